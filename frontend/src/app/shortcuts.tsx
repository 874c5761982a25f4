import { useNavigate } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { Fragment, useCallback, useEffect, useRef, useState } from 'react';
import { IconButton } from '@/components/button';
import { isTyping } from '@/components/fields';
import { Modal } from '@/components/modal';
import { ScrollArea } from '@/components/scroll-area';
import { lazyChunk } from '@/lib/lazy-chunk';
import { texts } from '@/lib/texts';
import { pages } from './navigation-pages';

export const paletteLabel = 'Search (command palette)';

const words = {
  title: 'Keyboard shortcuts',
};

export const loadPalette = lazyChunk(() => import('./command-palette'));

const keys: [keys: string[], text: string][] = [
  [['Ctrl', 'K'], paletteLabel],
  [['?'], 'Show keyboard shortcuts'],
  [['/'], 'Focus the search field'],
  [['↑', '↓'], 'Select the next or previous row'],
  [['Enter'], 'Open the selected row'],
  [['Esc'], 'Close details'],
  [['A'], 'Allow the focused call once'],
  [['D'], 'Deny the focused call'],
  [['Ctrl', 'Enter'], 'Run tool'],
  [['Ctrl', 'S'], 'Save the configuration'],
  ...pages.map(({ key, text }): [string[], string] => [['G', key.toUpperCase()], `Go to ${text}`]),
];

/**
 * The palette, which is loaded when it is first opened; React.lazy would show it 0.3 s later. What is
 * typed until then is its text, and no shortcut of the page.
 */
function LoadedPalette({ close }: { close: () => void }) {
  const [palette, setPalette] = useState<Awaited<ReturnType<typeof loadPalette>>>();
  const typed = useRef('');
  useEffect(() => {
    loadPalette().then(setPalette, (error) =>
      setPalette(() => {
        throw error;
      }),
    );
    const hold = (event: KeyboardEvent) => {
      if (document.querySelector('[data-palette]')?.matches('dialog[open] *')) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === 'Escape') close();
      else if (event.key === 'Backspace') typed.current = typed.current.slice(0, -1);
      else if (event.key.length === 1) typed.current += event.key;
    };
    window.addEventListener('keydown', hold, true);
    return () => window.removeEventListener('keydown', hold, true);
  }, [close]);
  return palette && <palette.Palette close={close} early={typed} />;
}

/** The keyboard shortcuts of every page: Ctrl+K, "?", and "g" followed by a letter. */
export function Shortcuts({
  palette,
  onPalette,
}: {
  palette: boolean;
  onPalette: (open: boolean) => void;
}) {
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  const pressedG = useRef(0);
  const close = useCallback(() => onPalette(false), [onPalette]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        onPalette(!palette);
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector('dialog[open]')) return;
      if (isTyping(event.target)) {
        // Leave the field, so that letters are shortcuts again; Tab continues from there.
        if (event.key === 'Escape' && !event.defaultPrevented) (event.target as HTMLElement).blur();
        return;
      }
      if (event.key === '?') {
        event.preventDefault();
        setHelp(true);
        return;
      }
      const place = pages.find(({ key }) => key === event.key);
      if (place && event.timeStamp - pressedG.current < 1200 && pressedG.current > 0) {
        event.preventDefault();
        navigate({ to: place.to });
      }
      pressedG.current = event.key === 'g' ? event.timeStamp : 0;
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [navigate, palette, onPalette]);
  return (
    <>
      {palette && <LoadedPalette close={close} />}
      {help && (
        <Modal label={words.title} onClose={() => setHelp(false)} className="max-w-lg md:max-w-3xl">
          <div className="flex items-center px-5 pt-4 pb-3">
            {/* Otherwise the close button would be focused, and its tooltip would cover the content. */}
            <h2 data-first tabIndex={-1} className="flex-1 text-lg font-semibold outline-none">
              {words.title}
            </h2>
            <IconButton label={texts.actions.close} onClick={() => setHelp(false)}>
              <X className="size-4" aria-hidden />
            </IconButton>
          </div>
          <ScrollArea aria-label={words.title} className="min-h-0 px-5 pb-5">
            <dl className="gap-x-10 text-sm md:columns-2">
              {keys.map(([names, text]) => (
                <div key={text} className="flex items-center gap-4 py-[3px]">
                  <dt className="order-last ml-auto flex gap-1">
                    {names.map((name, index) => (
                      <Fragment key={name}>
                        {index > 0 && names[0] === 'G' && (
                          <span className="text-xs text-ink3">then</span>
                        )}
                        <kbd className="rounded border border-strong bg-sunken px-1.5 font-mono text-xs leading-5">
                          {name}
                        </kbd>
                      </Fragment>
                    ))}
                  </dt>
                  <dd className="text-ink2">{text}</dd>
                </div>
              ))}
            </dl>
          </ScrollArea>
        </Modal>
      )}
    </>
  );
}
