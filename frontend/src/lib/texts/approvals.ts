/** The page Approvals. */
export const approvalsTexts = {
  approvals: {
    title: 'Approvals',
    waiting: (n: number) => (n === 1 ? '1 approval pending' : `${n} approvals pending`),
    /** How an approval ended. */
    ends: {
      accept: 'Approved',
      decline: 'Declined',
      cancel: 'Cancelled',
      expired: 'Expired',
      withdrawn: 'No longer pending',
    },
    left: (time: string) => `Will be declined automatically in ${time}`,
    server: 'About this server',
    call: {
      effects: {
        destructive: 'Destructive',
        'read-only': 'Read-only',
        unknown: 'Effect unknown',
      },
      left: (time: string) => `Will be denied automatically in ${time}`,
      ends: { accept: 'Allowed', decline: 'Denied', expired: 'Denied: nobody answered in time' },
    },
  },
} as const;
