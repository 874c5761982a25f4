import type { ToolChange } from '@/types/api';

const parts = ['description', 'schema', 'title', 'annotation', 'other part'] as const;
const states = ['changed', 'blocked', 'added', 'removed'] as const;

const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`;

/** How many definitions have changed, and what of them, in one line. */
export function summaryOf(list: Pick<ToolChange, 'kind' | 'state' | 'parts'>[]): string {
  const noun = list.every(({ kind }) => kind === 'tool') ? 'tool' : 'definition';
  const found = states.flatMap((state) => {
    const n = list.filter((one) => (one.state === 'waiting' ? 'changed' : one.state) === state);
    return n.length > 0 ? [{ state, n: n.length }] : [];
  });
  const differing = parts.flatMap((part) => {
    const n = list.filter((one) => one.parts?.includes(part)).length;
    return n > 0 ? [count(n, part)] : [];
  });
  return found
    .map(({ state, n }, i) => {
      const text = `${i === 0 ? count(n, noun) : n} ${state}`;
      return state === 'changed' && differing.length > 0
        ? `${text}: ${differing.join(', ')}`
        : text;
    })
    .join('; ');
}
