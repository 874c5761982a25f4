/** The page Approvals. */
export const approvalsTexts = {
  approvals: {
    title: 'Approvals',
  },
} as const;
