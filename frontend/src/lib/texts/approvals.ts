/** The page Approvals. */
export const approvalsTexts = {
  approvals: {
    title: 'Approvals',
    count: (n: number) => (n === 1 ? '1 pending' : `${n} pending`),
    waiting: (n: number) => (n === 1 ? '1 approval pending' : `${n} approvals pending`),
    answer: 'Review',
    question: (n: number) => `Question ${n}`,
    emptyTitle: 'No pending approvals',
    emptyBody:
      'This page lists calls that need approval, new commands, changed tools, and questions that a client cannot display.',
    asks: (server: string) => `${server} asks`,
    calledBy: (client: string) => `Called by “${client}”`,
    over: 'Expired',
    /** How an approval ended. */
    ends: {
      accept: 'Approved',
      decline: 'Declined',
      cancel: 'Cancelled',
      expired: 'Expired',
      withdrawn: 'No longer pending',
    },
    withdrawn: (reason: string) => `Withdrawn: ${reason}`,
    left: (time: string) => `Will be declined automatically in ${time}`,
    urlHint: 'The server asks you to open this URL. Check it, then copy it into your browser.',
    address: 'URL',
    warning: 'This question comes from the server. Never enter a password or a key.',
    accept: 'Send answer',
    opened: 'Done',
    decline: 'Decline',
    cancel: 'Cancel call',
    server: 'About this server',
    call: {
      effects: {
        destructive: 'Destructive',
        'read-only': 'Read-only',
        unknown: 'Effect unknown',
      },
      left: (time: string) => `Will be denied automatically in ${time}`,
      showAll: (size: string) => `Show all ${size}`,
      once: 'Allow once',
      minutes: 'Allow for 10 minutes',
      session: 'Allow for this session',
      always: 'Always allow',
      alwaysForClient: (client: string, tool: string) =>
        `${client} can now call ${tool} without approval. The Tools tab of the server shows this.`,
      alwaysForAll: (tool: string) =>
        `${tool} no longer needs approval. The Tools tab of the server shows this.`,
      alwaysByRule: (tool: string) =>
        `An argument rule now allows such calls to ${tool}. It is listed under Settings.`,
      alwaysSaved: (tool: string) => `Calls to ${tool} are now allowed by the configuration.`,
      limit: 'Limit to similar arguments…',
      noConditions:
        'No conditions can be suggested for these arguments. Any approval longer than “Allow once” applies to all calls to this tool.',
      deny: 'Deny',
      ends: { accept: 'Allowed', decline: 'Denied', expired: 'Denied: nobody answered in time' },
      tool: 'About this tool',
    },
    command: {
      changed: (server: string) => `${server} has a new command`,
      isNew: (server: string) => `${server} wants to run a command`,
      loosened: (server: string) => `The sandbox for ${server} was loosened`,
      body: 'The server will not start until you approve this command. To reject it, disable or remove the server instead. The command, one argument per line:',
      before: 'Before',
      now: 'Now',
      runs: 'Command',
      environment: 'Environment',
      folder: 'Working folder',
      sandbox: 'Newly allowed',
      run: 'Approve command',
    },
    grants: {
      title: 'Temporary approvals',
      left: (time: string) => `${time} left`,
      forget: 'Revoke all',
    },
  },
} as const;
