import { JsonView, LongText } from '@/components/json-view';
import { ScrollArea } from '@/components/scroll-area';
import { bytes } from '@/lib/format';
import { isJson, jsonElements, jsonMembers, jsonString } from '@/lib/json-text';
import { texts } from '@/lib/texts';

interface Part {
  type: string;
  text: string | undefined;
  mimeType: string | undefined;
  size: number;
}

/** The content of a tool result, or undefined when it has none that could be read as text. */
export function contentParts(result: string): Part[] | undefined {
  const content = jsonMembers(result)?.get('content');
  const parts = content === undefined ? undefined : jsonElements(content);
  return parts?.map((part) => {
    const members = jsonMembers(part);
    return {
      type: jsonString(members?.get('type')) ?? '',
      text: jsonString(members?.get('text')),
      mimeType: jsonString(members?.get('mimeType')),
      size: Math.floor(((members?.get('data')?.length ?? 2) - 2) * 0.75),
    };
  });
}

/** Shows a tool result as people read it: its texts, and what else came with them. Never as markup. */
export function ResultText({ text }: { text: string }) {
  return (
    <div className="space-y-2">
      {(contentParts(text) ?? []).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity
        <PartView key={index} part={part} />
      ))}
    </div>
  );
}

ResultText.canShow = (result: string): boolean => {
  const parts = contentParts(result);
  return parts !== undefined && parts.length > 0 && parts.every((part) => part.type !== '');
};

function PartView({ part }: { part: Part }) {
  if (part.text === undefined) {
    return (
      <p className="rounded-md border bg-sunken px-3 py-2 text-sm text-ink2">
        {[part.type, part.mimeType, part.size > 0 && bytes(part.size)].filter(Boolean).join(' · ')}
      </p>
    );
  }
  if (/^\s*[[{]/.test(part.text) && isJson(part.text)) {
    return <JsonView text={part.text} label={texts.calls.resultText} />;
  }
  return (
    <ScrollArea
      aria-label={texts.calls.resultText}
      className="max-h-[28rem] rounded-md border bg-sunken p-3 font-mono text-xs leading-[1.6] whitespace-pre-wrap [overflow-wrap:anywhere]"
    >
      <LongText text={part.text} />
    </ScrollArea>
  );
}
