import type { ModeCost, SessionCost } from '@/types/api';

/** The sum of the sessions of one client. */
export type ClientCost = Omit<SessionCost, 'session' | 'at' | 'tools'> & { sessions: number };

/** Adds the costs of sessions up by client, that with the most calls first. */
export function costsByClient(sessions: SessionCost[]): ClientCost[] {
  const sums = new Map<string, ClientCost>();
  for (const one of sessions) {
    const key = `${one.client}/${one.token}`;
    const sum = sums.get(key);
    sums.set(
      key,
      sum
        ? {
            ...sum,
            sessions: sum.sessions + 1,
            calls: sum.calls + one.calls,
            resultTokens: sum.resultTokens + one.resultTokens,
            modes: sum.modes.map((mode, i) => addCost(mode, one.modes[i])),
          }
        : { ...one, sessions: 1 },
    );
  }
  return [...sums.values()].sort((a, b) => b.calls - a.calls);
}

const addCost = (a: ModeCost, b: ModeCost | undefined): ModeCost =>
  b ? { ...a, once: a.once + b.once, total: a.total + b.total } : a;
