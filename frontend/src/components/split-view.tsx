import { ArrowLeft, type LucideIcon, X } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { Button, IconButton } from '@/components/button';
import { isTyping } from '@/components/fields';
import { Boundary, Empty } from '@/components/page';
import { classes } from '@/lib/class-names';
import { texts } from '@/lib/texts';
import { useWideScreen } from '@/lib/wide-screen';

/** A list with a detail beside it; on narrow screens the detail replaces the list. */
export function Split({ list, detail }: { list: ReactNode; detail: ReactNode | null }) {
  return (
    <div className="flex min-h-0 flex-1">
      <div
        className={classes(
          'flex min-h-0 min-w-0 flex-1 flex-col',
          detail !== null && 'hidden lg:flex',
        )}
      >
        {list}
      </div>
      {detail !== null && (
        <div className="flex min-h-0 w-full flex-col lg:w-[46%] lg:max-w-[56rem] lg:min-w-[28rem] lg:border-l lg:bg-panel">
          {detail}
        </div>
      )}
    </div>
  );
}

/** The loading and error states of a detail, in its frame: it can be closed in these states too. */
export function DetailBoundary({
  id,
  title,
  onClose,
  children,
}: {
  id: string;
  title: string;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Boundary
      title={title}
      frame={(part) => (
        <DetailFrame id={id} title={title} onClose={onClose}>
          {part}
        </DetailFrame>
      )}
    >
      {children}
    </Boundary>
  );
}

/** The detail of something that does not exist, or was deleted. */
export function Gone({
  id,
  title,
  icon,
  what,
  children,
  onClose,
}: {
  id: string;
  title: string;
  icon: LucideIcon;
  what: string;
  children: ReactNode;
  onClose: () => void;
}) {
  return (
    <DetailFrame id={id} title={title} onClose={onClose}>
      <Empty icon={icon} title={what}>
        <div>{children}</div>
        <Button className="mt-4" onClick={onClose}>
          Back to the list
        </Button>
      </Empty>
    </DetailFrame>
  );
}

/** The frame of a detail. Escape closes it; opening it moves the focus to its heading. */
export function DetailFrame({
  id,
  title,
  meta,
  actions,
  onClose,
  children,
}: {
  /** Changes when another object is shown. */
  id: string;
  title: ReactNode;
  meta?: ReactNode;
  actions?: ReactNode;
  onClose: () => void;
  children: ReactNode;
}) {
  const wide = useWideScreen();
  // If it is alone on the screen, it is the page's first heading.
  const Heading = wide ? 'h2' : 'h1';
  const heading = useRef<HTMLHeadingElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when another object is shown
  useEffect(() => {
    scroller.current?.scrollTo({ top: 0 });
    // On a wide screen the user continues in the list, so the focus stays there.
    if (!wide) heading.current?.focus();
  }, [id]);
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || isTyping(event.target)) return;
      if (!document.querySelector('dialog[open]')) onClose();
    };
    window.addEventListener('keydown', close);
    return () => window.removeEventListener('keydown', close);
  }, [onClose]);
  return (
    <section className="flex min-h-0 flex-1 flex-col" aria-labelledby="detail-title">
      <header className="shrink-0 border-b px-4 pt-3 pb-3 md:px-5 md:pt-4">
        <div className="flex items-start gap-2">
          <span className="-ml-2 lg:hidden">
            <IconButton label="Back" onClick={onClose}>
              <ArrowLeft className="size-4" aria-hidden />
            </IconButton>
          </span>
          <Heading
            id="detail-title"
            ref={heading}
            tabIndex={-1}
            className="min-w-0 flex-1 pt-1 text-lg font-semibold outline-none [overflow-wrap:anywhere]"
          >
            {title}
          </Heading>
          <span className="-mr-2 hidden lg:block">
            <IconButton label={texts.actions.close} onClick={onClose}>
              <X className="size-4" aria-hidden />
            </IconButton>
          </span>
        </div>
        {meta && <div className="mt-1 text-sm text-ink2 [overflow-wrap:anywhere]">{meta}</div>}
        {actions && <div className="mt-3 flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      <div ref={scroller} className="scroll-area min-h-0 flex-1">
        {children}
      </div>
    </section>
  );
}
