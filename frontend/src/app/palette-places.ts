import { texts } from '@/lib/texts';

const panelAt = (title: string) => `[data-panel][aria-label="${title}"]`;

/** Places within pages that the palette finds by these words; `at` gets the focus. */
export const places: {
  text: string;
  to: '/settings' | '/configuration' | '/clients' | '/approvals' | '/welcome';
  at: string;
}[] = [
  ...[
    ['Start at login, notifications and call approval', 'General'],
    ['Retention and maximum size of the history', 'Recording'],
    ['Secrets', 'Secrets'],
    ['Doctor: check this installation', 'Diagnostics'],
    ['Address and port, metrics, redaction', 'Advanced'],
    ['Version and URL', 'About'],
    ['Bug report', 'Bug report'],
  ].map(([text = '', panel = '']) => ({
    text: `Settings: ${text}`,
    to: '/settings' as const,
    at: panelAt(panel),
  })),
  {
    text: 'Backups of the configuration',
    to: '/configuration',
    at: panelAt(texts.configCopies.copiesTitle),
  },
  {
    text: 'Access tokens',
    to: '/clients',
    at: '[aria-labelledby="tokens-title"] :is(button, input)',
  },
  {
    text: 'Undo a move or import of servers',
    to: '/clients',
    at: '[aria-label="Results by client"] button',
  },
  { text: 'Move or import servers of clients', to: '/welcome', at: '#main button' },
  { text: 'Argument rules', to: '/approvals', at: '[aria-label="Argument rules"] button:enabled' },
];
