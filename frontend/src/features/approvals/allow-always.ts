import type { QueryClient } from '@tanstack/react-query';
import { configQuery, restoreConfig } from '@/lib/config-file';
import { escapeControlCharacters } from '@/lib/format';
import { request, requestList } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast, toastError } from '@/lib/toast';
import type { Approval, ConfigFile, ToolSettings, ToolWithSettings } from '@/types/api';

/** What "Always allow" can change: the settings of the tool, or the rules in the file. */
export interface Permanent {
  settings: ToolSettings | undefined;
  file: ConfigFile | undefined;
}

const toolsPath = (server: string) => `/api/v1/servers/${encodeURIComponent(server)}/tools`;

export async function readPermanent(client: QueryClient, approval: Approval): Promise<Permanent> {
  const unknown = () => undefined; // then it cannot be undone, but the call can be answered
  const [tools, file] = await Promise.all([
    requestList<ToolWithSettings>(toolsPath(approval.server)).catch(unknown),
    client.fetchQuery({ ...configQuery, staleTime: 0 }).catch(unknown),
  ]);
  return { settings: tools?.find((one) => one.tool === approval.original)?.settings, file };
}

/** Says what "Always allow" has changed since `before`, with Undo. */
export async function announcePermanent(
  client: QueryClient,
  approval: Approval,
  before: Permanent,
): Promise<void> {
  const after = await readPermanent(client, approval);
  const { token } = approval.client;
  const tool = escapeControlCharacters((approval.original || approval.tool).slice(0, 200));
  const refresh = () =>
    client.invalidateQueries({ queryKey: ['server', approval.server, 'tools'] });
  const change = async (set: (now: ToolSettings) => object) => {
    try {
      const { settings } = await readPermanent(client, approval);
      if (!settings) return;
      const body = { tools: [approval.original], set: set(settings) };
      await request('POST', toolsPath(approval.server), { body });
      toast('ok', texts.settings.saved);
      refresh();
    } catch (error) {
      toastError(error);
    }
  };
  const undo = (run: () => unknown) => ({ text: texts.care.undo, run });
  refresh();
  const was = before.settings;
  const is = after.settings;
  if (was && is?.allowClients.includes(token) && !was.allowClients.includes(token)) {
    toast(
      'ok',
      `${escapeControlCharacters(token)} can now call ${tool} without approval. The Tools tab of the server shows this.`,
      undo(() => change((now) => ({ allowClients: without(now.allowClients, token) }))),
    );
  } else if (was && is && is.approval !== was.approval) {
    toast(
      'ok',
      `${tool} no longer needs approval. The Tools tab of the server shows this.`,
      undo(() => change(() => ({ approval: was.approval || null }))),
    );
  } else if (before.file && after.file && isInsertion(before.file.text, after.file.text)) {
    const { text } = before.file;
    const { etag } = after.file;
    toast(
      'ok',
      `An argument rule now allows such calls to ${tool}. It is listed under Settings.`,
      undo(() => restoreConfig(client, text, etag)),
    );
  } else {
    toast('ok', `Calls to ${tool} are now allowed by the configuration.`);
  }
}

/** A list without one value; null, which removes the key, if nothing remains. */
export function without(list: string[], value: string): string[] | null {
  const rest = list.filter((one) => one !== value);
  return rest.length > 0 ? rest : null;
}

/** Whether one piece of text was added: then nobody else has changed the file at the same time. */
function isInsertion(before: string, after: string): boolean {
  if (after.length <= before.length) return false;
  let same = 0;
  while (same < before.length && before[same] === after[same]) same++;
  return after.endsWith(before.slice(same));
}
