import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import type { Question } from '@/types/api';
import { applyQuestion } from './events';

const question = (id: string, state = '') => ({ id, state }) as Question;

it('a question comes once and goes when it ended, however it did', () => {
  const client = new QueryClient();
  const ids = () => client.getQueryData<Question[]>(['questions'])?.map((q) => q.id);
  applyQuestion(client, question('1'));
  applyQuestion(client, question('2'));
  applyQuestion(client, question('1'));
  expect(ids()).toEqual(['2', '1']);
  applyQuestion(client, question('2', 'expired'));
  expect(ids()).toEqual(['1']);
  applyQuestion(client, question('none', 'withdrawn'));
  expect(ids()).toEqual(['1']);
});
