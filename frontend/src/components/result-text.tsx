import { Download } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Button } from '@/components/button';
import { JsonView, LongText } from '@/components/json-view';
import { ScrollArea } from '@/components/scroll-area';
import { downloadBase64 } from '@/lib/download';
import { bytes, escapeControlCharacters } from '@/lib/format';
import { isJson, jsonElements, jsonMembers, jsonString, sortJson } from '@/lib/json-text';

const words = {
  resultText: 'Text',
};

export interface Part {
  type: string;
  text: string | undefined;
  /** Base64, if the part contains bytes. */
  data: string | undefined;
  mimeType: string | undefined;
  /** The size of data in bytes, or the size that a link declares. */
  size: number;
  uri: string | undefined;
  title: string | undefined;
  description: string | undefined;
}

/** The content of a tool result, or undefined if none of it can be shown as text. */
export function contentParts(result: string): Part[] | undefined {
  const content = jsonMembers(result)?.get('content');
  const parts = content === undefined ? undefined : jsonElements(content);
  return parts?.map((part) => {
    const outer = jsonMembers(part);
    const inner = jsonMembers(outer?.get('resource') ?? '');
    const get = (name: string) => jsonString(inner?.get(name)) ?? jsonString(outer?.get(name));
    const recorded = get('data') ?? get('blob');
    const left = leftOut.exec(recorded ?? '');
    const data = left ? undefined : recorded;
    return {
      type: jsonString(outer?.get('type')) ?? '',
      text: get('text'),
      data,
      mimeType: get('mimeType'),
      size: left
        ? Math.floor((Number(left[1]) * 3) / 4)
        : data === undefined
          ? Number(outer?.get('size') ?? 0) || 0
          : decodedSize(data),
      uri: get('uri'),
      title: get('title') ?? get('name'),
      description: get('description'),
    };
  });
}

/** What the history holds instead of long binary data. */
const leftOut = /^\[(\d+) characters not recorded, sha256 [0-9a-f]{64}\]$/;

function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
}

/** Whether a result shows the reason of its call, which then needs not be shown again. */
export const resultSays = (result: string | undefined, reason: string): boolean =>
  result !== undefined &&
  contentParts(result)?.some((part) => part.text?.includes(reason.replace(/…$/, ''))) === true;

/** What a result contains besides its content. */
function structuredContent(result: string): string | undefined {
  const structured = jsonMembers(result)?.get('structuredContent');
  return structured === 'null' ? undefined : structured;
}

function sameJson(text: string | undefined, json: string): boolean {
  if (text === undefined || text.length > 100_000 || json.length > 100_000) return false;
  return isJson(text) && sortJson(text) === sortJson(json);
}

/** Shows a tool result for people: its texts and its other content. Never interprets markup. */
export function ResultText({ text }: { text: string }) {
  const parts = useMemo(() => contentParts(text) ?? [], [text]);
  const structured = useMemo(() => {
    const found = structuredContent(text);
    // Most tools send the same value as text too, for clients that read nothing else.
    const members = [...(jsonMembers(found ?? '')?.values() ?? [])];
    const only = members.length === 1 ? members[0] : undefined;
    const same = ({ text }: Part) =>
      text !== undefined &&
      found !== undefined &&
      (sameJson(text, found) || jsonString(only) === text);
    return parts.some(same) ? undefined : found;
  }, [text, parts]);
  return (
    <div className="space-y-2">
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity
        <PartView key={index} part={part} />
      ))}
      {structured !== undefined && <JsonView title text={structured} label="Structured content" />}
    </div>
  );
}

ResultText.canShow = (result: string): boolean => {
  const parts = contentParts(result);
  return (
    parts?.every((part) => part.type !== '') === true &&
    (parts.length > 0 || structuredContent(result) !== undefined)
  );
};

// Formats that browsers decode without executing anything; not SVG, which is a document.
const pictures = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const sounds = /^audio\/(wav|x-wav|wave|mpeg|mp3|ogg|webm|flac|aac|mp4)$/;
const most = 12_000_000;

function PartView({ part }: { part: Part }) {
  const playable =
    part.data !== undefined && part.data.length < most && /^[A-Za-z0-9+/]+={0,2}$/.test(part.data);
  return (
    <div className="space-y-2">
      {part.type !== 'text' && <PartLabel part={part} />}
      {playable && pictures.test(part.mimeType ?? '') && <Picture part={part} />}
      {playable && sounds.test(part.mimeType ?? '') && <Sound part={part} />}
      {part.text !== undefined && <PartText text={part.text} />}
    </div>
  );
}

function PartLabel({ part }: { part: Part }) {
  const { data, uri } = part;
  return (
    <div className="flex items-center gap-2 rounded-md border bg-sunken px-3 py-2 text-sm text-ink2">
      <div className="min-w-0 flex-1 [overflow-wrap:anywhere]">
        {part.title && (
          <p className="font-medium">{escapeControlCharacters(part.title.slice(0, 500))}</p>
        )}
        {/* A URL of a server is text to read and copy, never a link. */}
        {uri && <p className="font-mono text-xs">{escapeControlCharacters(uri.slice(0, 2000))}</p>}
        {part.description && <p>{escapeControlCharacters(part.description.slice(0, 2000))}</p>}
        <p className="text-xs text-ink3">
          {[
            // "image/png" already says that it is an image.
            part.mimeType?.startsWith(`${part.type}/`) ? '' : part.type,
            part.mimeType,
            part.size > 0 && bytes(part.size),
          ]
            .filter((word): word is string => Boolean(word))
            .map((word) => escapeControlCharacters(word.slice(0, 200)))
            .join(' · ')}
        </p>
      </div>
      {data !== undefined && (
        <Button small onClick={() => downloadBase64(data, part.type)}>
          <Download className="size-3.5" aria-hidden />
          Save
        </Button>
      )}
    </div>
  );
}

function Picture({ part }: { part: Part }) {
  const [broken, setBroken] = useState(false);
  if (broken) return <p className="text-xs text-warn">Cannot show this image.</p>;
  return (
    <img
      src={`data:${part.mimeType};base64,${part.data}`}
      alt="From the server"
      onError={() => setBroken(true)}
      className="max-h-[28rem] max-w-full rounded-md border bg-sunken object-contain"
    />
  );
}

function Sound({ part }: { part: Part }) {
  const [broken, setBroken] = useState(false);
  if (broken)
    return <p className="text-xs text-warn">Cannot play this audio here. Save it as a file.</p>;
  return (
    // biome-ignore lint/a11y/useMediaCaption: results of tools have no captions
    <audio
      controls
      preload="metadata"
      aria-label="Audio"
      src={`data:${part.mimeType};base64,${part.data}`}
      onError={() => setBroken(true)}
      className="h-10 w-full max-w-md"
    />
  );
}

function PartText({ text }: { text: string }) {
  if (/^\s*[[{]/.test(text) && isJson(text)) {
    return <JsonView text={text} label={words.resultText} />;
  }
  return (
    <ScrollArea
      aria-label={words.resultText}
      className="max-h-[28rem] rounded-md border bg-sunken p-3 font-mono text-xs leading-[1.6] whitespace-pre-wrap [overflow-wrap:anywhere]"
    >
      <LongText text={text} />
    </ScrollArea>
  );
}
