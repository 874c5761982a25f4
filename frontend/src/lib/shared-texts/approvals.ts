/** The page Approvals. */
export const approvalsTexts = {
  approvals: {
    title: 'Approvals',
    waiting: (n: number) => (n === 1 ? '1 approval pending' : `${n} approvals pending`),
    server: 'About this server',
  },
} as const;
