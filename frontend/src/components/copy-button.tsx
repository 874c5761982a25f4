import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button, IconButton } from '@/components/button';
import { Labelled } from '@/components/fields';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';

/** Copies text; `text` can be a function if the text is expensive to create. */
export function CopyButton({
  text,
  label = texts.actions.copy,
  showLabel = false,
}: {
  text: string | (() => string);
  label?: string;
  showLabel?: boolean;
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1600);
    return () => clearTimeout(timer);
  }, [copied]);

  const copy = async () => {
    if (await writeClipboard(typeof text === 'function' ? text() : text)) setCopied(true);
    else toast('bad', texts.actions.copyFailed);
  };
  const icon = copied ? (
    <Check className="size-3.5 text-ok" aria-hidden />
  ) : (
    <Copy className="size-3.5" aria-hidden />
  );
  const name = copied ? 'Copied' : label;
  if (showLabel) {
    return (
      <Button small look="quiet" onClick={copy}>
        {icon}
        <span aria-live="polite">{name}</span>
      </Button>
    );
  }
  return (
    <IconButton label={name} onClick={copy} small>
      {icon}
    </IconButton>
  );
}

/** Returns whether the text was copied. */
export async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Some web views have no clipboard API; execCommand works there.
    const area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('aria-hidden', 'true');
    area.className = 'fixed top-0 left-0 opacity-0';
    document.body.append(area);
    area.select();
    try {
      return document.execCommand('copy');
    } catch {
      return false;
    } finally {
      area.remove();
    }
  }
}

/** A command or URL in a box, with its copy button. */
export function CopyField({
  text,
  label,
  titled = false,
}: {
  text: string;
  label: string;
  /** Whether the label is shown above. */
  titled?: boolean;
}) {
  const field = (
    <div className="flex items-start gap-1 rounded-md border bg-sunken py-1 pr-1 pl-3">
      <code className="min-w-0 flex-1 py-[5px] font-mono text-xs break-words whitespace-pre-wrap [overflow-wrap:anywhere]">
        {text}
      </code>
      <CopyButton text={text} label={`${texts.actions.copy}: ${label}`} />
    </div>
  );
  return titled ? <Labelled label={label}>{field}</Labelled> : field;
}
