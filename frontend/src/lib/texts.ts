import { withoutPrototypes } from './own-property';
import { approvalsTexts } from './texts/approvals';
import { callsTexts } from './texts/calls';
import { clientsTexts } from './texts/clients';
import { directoryTexts } from './texts/directory';
import { generalTexts } from './texts/general';
import { overviewTexts } from './texts/overview';
import { rulesTexts } from './texts/rules';
import { serversTexts } from './texts/servers';
import { settingsTexts } from './texts/settings';
import { toolsTexts } from './texts/tools';

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
  ...rulesTexts,
} as const);
