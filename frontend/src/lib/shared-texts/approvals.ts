/** The page Approvals. */
export const approvalsTexts = {
  approvals: {
    title: 'Approvals',
    server: 'About this server',
  },
} as const;
