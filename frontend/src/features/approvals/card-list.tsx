import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { isTyping } from '@/components/fields';
import { GuardedItem, GuardedList, restMs } from '@/components/guarded-list';
import { classes } from '@/lib/class-names';
import { withoutPrototypes } from '@/lib/own-property';
import { texts } from '@/lib/texts';
import type { Approval } from '@/types/api';
import { endOf } from './events';
import { nextPending, type ShownApproval, updateShown } from './shown-approvals';

const endsTexts = withoutPrototypes({
  accept: 'Approved',
  decline: 'Declined',
  cancel: 'Cancelled',
  expired: 'Expired',
  withdrawn: 'No longer pending',
} as const);

const callEndsTexts = withoutPrototypes({
  accept: 'Allowed',
  decline: 'Denied',
  expired: 'Denied: nobody answered in time',
} as const);

/** How long a card that is no longer pending stays in its place. */
const staysMs = { pointerAway: 1000, pointerOver: 5000 };

/**
 * The cards of pending approvals. A card that is no longer pending stays in its place for a while,
 * so that the next one does not move under the pointer; when it does move, its buttons ignore the
 * pointer for a moment (see GuardedList).
 */
export function CardList({
  approvals,
  none = null,
  className,
  children,
}: {
  approvals: Approval[];
  /** Shown instead of an empty list. */
  none?: ReactNode;
  className?: string;
  children: (approval: Approval, index: number) => ReactNode;
}) {
  const client = useQueryClient();
  const { shown, clear } = useShown(approvals);
  const [pointerOver, setPointerOver] = useState(false);
  const frame = useFocusOnNext(shown);
  const ended = shown.filter((one) => one.ended).length;
  useEffect(() => {
    if (ended === 0) return;
    const timer = setTimeout(clear, pointerOver ? staysMs.pointerOver : staysMs.pointerAway);
    return () => clearTimeout(timer);
  }, [ended, pointerOver, clear]);
  return (
    <section
      ref={frame}
      tabIndex={-1}
      aria-label={shown.length > 0 ? texts.approvals.title : undefined}
      className="outline-none"
    >
      {shown.length === 0 ? (
        none
      ) : (
        <GuardedList
          className={classes('max-w-2xl space-y-4', className)}
          aria-live="polite"
          onPointerEnter={() => setPointerOver(true)}
          onPointerLeave={() => setPointerOver(false)}
        >
          {shown.map(({ approval, ended }, index) => (
            <GuardedItem
              key={approval.id}
              id={approval.id}
              tabIndex={-1}
              className="group/card relative rounded-lg"
            >
              <div
                inert={ended}
                aria-hidden={ended || undefined}
                className={ended ? 'opacity-30' : undefined}
              >
                {children(approval, index)}
              </div>
              {ended && (
                <p className="absolute inset-0 flex items-center justify-center">
                  <span className="rounded-md border bg-panel px-3 py-1.5 font-medium shadow-float">
                    {endText(approval, endOf(client, approval.id))}
                  </span>
                </p>
              )}
            </GuardedItem>
          ))}
        </GuardedList>
      )}
    </section>
  );
}

function endText({ kind }: Approval, end: ReturnType<typeof endOf>): string {
  if (end?.reason) return `Withdrawn: ${end.reason}`;
  const ends: Record<string, string> =
    kind === 'call' ? { ...endsTexts, ...callEndsTexts } : endsTexts;
  return ends[end?.state ?? ''] ?? endsTexts.withdrawn;
}

/** The cards to show; `clear` removes those that are no longer pending. */
function useShown(pending: Approval[]): { shown: ShownApproval[]; clear: () => void } {
  const [{ shown, from }, setState] = useState({ shown: updateShown([], pending), from: pending });
  const current = from === pending ? shown : updateShown(shown, pending);
  if (from !== pending) setState({ shown: current, from: pending });
  const [clear] = useState(
    () => () => setState(({ shown, from }) => ({ shown: shown.filter((one) => !one.ended), from })),
  );
  return { shown: current, clear };
}

/** The cards, without the items of lists in them. */
function itemsIn(frame: HTMLElement | null): HTMLElement[] {
  return [...(frame?.querySelectorAll<HTMLElement>(':scope > ul > [data-item]') ?? [])];
}

/**
 * Moves the focus to the next card when the card that has it is no longer pending; without one, to
 * the returned frame. The card itself gets the focus, not its first button: a second Enter must not
 * answer it.
 */
function useFocusOnNext(shown: ShownApproval[]) {
  const frame = useRef<HTMLElement>(null);
  const focused = useRef<string>(undefined);
  const byKeyboard = useRef(false);
  const movedAt = useRef(0);
  useEffect(() => {
    const itemOf = ({ target }: Event) =>
      target instanceof Element
        ? itemsIn(frame.current).find((item) => item.contains(target))?.dataset.item
        : undefined;
    // A button that is disabled loses the focus without an event, so its card is remembered.
    const onFocus = (event: Event) => {
      focused.current = itemOf(event);
    };
    const onPointer = (event: Event) => {
      byKeyboard.current = false;
      focused.current = itemOf(event);
    };
    const onKey = () => {
      byKeyboard.current = true;
    };
    document.addEventListener('focusin', onFocus);
    document.addEventListener('pointerdown', onPointer, true);
    document.addEventListener('keydown', onKey, true);
    return () => {
      document.removeEventListener('focusin', onFocus);
      document.removeEventListener('pointerdown', onPointer, true);
      document.removeEventListener('keydown', onKey, true);
    };
  }, []);
  // A and D answer the card that has the focus, not one that has just got it: the key may be meant
  // for the card before. The first card of an empty list gets it, unless something else has it.
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]')) return;
      if (performance.now() - movedAt.current < restMs) return;
      const card = itemsIn(frame.current).find((item) => item.contains(document.activeElement));
      const key = CSS.escape(event.key.toLowerCase());
      card?.querySelector<HTMLElement>(`:scope > :not([inert]) [data-key="${key}"]`)?.click();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  const none = useRef(true);
  useLayoutEffect(() => {
    const id = focused.current;
    const pending = shown.filter((one) => !one.ended).map((one) => one.approval.id);
    const first = none.current ? pending[0] : undefined;
    none.current = pending.length === 0;
    const idle = [null, document.body, frame.current].includes(
      document.activeElement as HTMLElement,
    );
    if (first && idle) {
      movedAt.current = performance.now();
      focused.current = first;
      itemsIn(frame.current)
        .find((item) => item.dataset.item === first)
        ?.focus({ preventScroll: true });
      return;
    }
    if (id === undefined || shown.some((one) => one.approval.id === id && !one.ended)) return;
    const next = nextPending(shown, id);
    const target =
      itemsIn(frame.current).find((item) => item.dataset.item === next) ?? frame.current;
    // The frame of an app takes the focus without an event.
    const active = document.activeElement;
    if (active && active !== document.body && !frame.current?.contains(active)) return;
    if (active instanceof HTMLIFrameElement) return;
    focused.current = next;
    movedAt.current = performance.now();
    target?.focus({ preventScroll: true });
    if (byKeyboard.current) target?.scrollIntoView({ block: 'nearest' });
  }, [shown]);
  return frame;
}
