import { compareIds, duration, moment } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Call, CallDetail, CheckStep, Expect } from '@/types/api';

const redacted = '[redacted]';

/** The expectations that the user entered for one call. */
export interface ExpectationInput {
  outcome: NonNullable<Expect['outcome']>;
  contains: string;
  sameResult: boolean;
  within: string;
}

export const outcomes = ['ok', 'tool_error', 'protocol_error', 'timeout', 'rejected'] as const;

/** By default only the same outcome is expected. */
export function defaultExpectation(call: CallDetail): ExpectationInput {
  const outcome = outcomes.find((one) => one === call.outcome) ?? 'ok';
  return { outcome, contains: '', sameResult: false, within: '' };
}

/** The recorded response for comparisons; undefined if it is missing, truncated or redacted. */
export function answerOf(call: CallDetail): string | undefined {
  const answer = call.error || call.result;
  return !answer || call.replyCut || answer.includes(redacted) ? undefined : answer;
}

/** Why a call cannot be part of a check; undefined if it can. */
export function whyNotRepeatable(call: CallDetail): string | undefined {
  if (call.argumentsCut)
    return 'Its arguments were not recorded in full, so it cannot be repeated.';
  return call.arguments?.includes(redacted)
    ? 'Its arguments contain redacted secrets, so it cannot be repeated.'
    : undefined;
}

export function isValidCheckName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name);
}

/** A name derived from the server and the tool. */
export function suggestedName(server: string, tool: string): string {
  return `${server}-${tool}`
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 100);
}

export function isValidExpectation(wish: ExpectationInput): boolean {
  return /^\d{0,9}$/.test(wish.within.trim());
}

export function stepOf(call: CallDetail, wish: ExpectationInput): CheckStep {
  const expect: Expect = { outcome: wish.outcome };
  const contains = wish.contains.split('\n').filter((line) => line.trim() !== '');
  if (contains.length > 0) expect.contains = contains;
  const answer = answerOf(call);
  if (wish.sameResult && answer !== undefined) expect.result = answer;
  const within = Number(wish.within.trim());
  if (within > 0) expect.maxTookNs = within * 1_000_000;
  const step: CheckStep = { server: call.server, tool: call.tool, expect };
  if (call.arguments) step.arguments = call.arguments;
  if (call.account) step.account = call.account;
  if (call.servedBy) {
    const { name, version, package: from } = call.servedBy;
    step.version = `${name} ${version}${from ? ` (${from})` : ''}`.trim().slice(0, 1000);
  }
  return step;
}

/** The expectations for a call, as text. */
export function expectations({ outcome, contains, result, maxTookNs }: Expect): string[] {
  const said = [`Outcome: ${texts.outcomes[outcome || 'ok'] ?? outcome}`];
  for (const text of contains ?? []) said.push(`Contains “${text}”`);
  if (result) said.push('Equals the recorded result');
  if (maxTookNs) said.push(`Takes at most ${duration(maxTookNs)}`);
  return said;
}

/** How many steps have started since a point in time; they run in order. */
export function stepsBegun(
  steps: { server: string; tool: string }[],
  calls: Pick<Call, 'id' | 'at' | 'server' | 'tool'>[],
  since: number,
): number {
  const made = calls
    .filter((call) => (moment(call.at) ?? 0) >= since - slackMs)
    .sort((a, b) => compareIds(a.id, b.id));
  let begun = 0;
  for (const call of made) {
    const next = steps[begun];
    if (next && next.server === call.server && next.tool === call.tool) begun++;
  }
  return begun;
}

/** The page's clock ticks once a second. */
const slackMs = 1000;
