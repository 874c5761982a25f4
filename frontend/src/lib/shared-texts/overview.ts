import { count } from '@/lib/format';

/** The overview, the first steps and the usage. */
export const overviewTexts = {
  overview: {
    title: 'Overview',
    attention: 'Needs attention',

    p95: (most: string) => `p95 ${most}`,

    allCalls: 'All calls',
  },
  changes: {
    more: (n: number) => `${count(n)} more`,
    less: 'Show less',
  },
  welcome: {
    title: 'Get started',

    /** Added to the note on macOS, which asks when a program opens files of another one. */

    /** The first step where no client was found. */

    /** The second step where no client was found. */
  },

  usage: {
    title: 'Usage',
    emptyTitle: 'No calls in this period',
    errors: 'Errors',
    errorsOf: (n: string) => (n === '1' ? '1 error' : `${n} errors`),
    callsOverTime: 'Calls and errors',
    durationsOverTime: 'Latency',
  },
} as const;
