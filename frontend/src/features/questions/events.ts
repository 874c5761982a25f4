import type { QueryClient } from '@tanstack/react-query';
import type { Question } from '@/types/api';

/** A question came, or it was answered, expired or taken back. */
export function applyQuestion(client: QueryClient, question: Question): void {
  client.setQueryData<Question[]>(['questions'], (old) => {
    const others = (old ?? []).filter((known) => known.id !== question.id);
    return question.state ? others : [...others, question];
  });
}
