import { withoutPrototypes } from './own-property';
import { approvalsTexts } from './texts/approvals';
import { callsTexts } from './texts/calls';
import { clientsTexts } from './texts/clients';
import { directoryTexts } from './texts/directory';
import { generalTexts } from './texts/general';
import { overviewTexts } from './texts/overview';
import { serversTexts } from './texts/servers';
import { settingsTexts } from './texts/settings';
import { toolsTexts } from './texts/tools';

/** Every sentence and label of the page; a file of texts/ for each part of it. */
export const texts = withoutPrototypes({
  ...generalTexts,
  ...overviewTexts,
  ...serversTexts,
  ...directoryTexts,
  ...callsTexts,
  ...toolsTexts,
  ...clientsTexts,
  ...approvalsTexts,
  ...settingsTexts,
} as const);
