import { withoutPrototypes } from './own-property';
import { approvalsTexts } from './shared-texts/approvals';
import { callsTexts } from './shared-texts/calls';
import { clientsTexts } from './shared-texts/clients';
import { directoryTexts } from './shared-texts/directory';
import { generalTexts } from './shared-texts/general';
import { overviewTexts } from './shared-texts/overview';
import { serversTexts } from './shared-texts/servers';
import { settingsTexts } from './shared-texts/settings';
import { toolsTexts } from './shared-texts/tools';

/** Sentences and labels that several components show, and tables of words. Others are where they are shown. */
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
