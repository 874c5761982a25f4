import type { Change } from '@/types/api';

export const mostChanges = 50;

/** One side of the first changes as text: each path with its old or new value. */
export function textOfSide(changes: Change[], side: 'before' | 'after', whole: string): string {
  return changes
    .slice(0, mostChanges)
    .filter((change) => change[side] !== undefined)
    .map((change) => `${change.path || whole}: ${change[side]}`)
    .join('\n');
}
