import { Link } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { IconButton } from '@/components/button';
import { Modal } from '@/components/modal';
import { ScrollArea } from '@/components/scroll-area';
import { texts } from '@/lib/texts';
import { navigationPages } from './navigation-pages';

export const pagesLabel = 'Pages';

interface NavigationPagesProps {
  /** The current page of the navigation, also while one of its views is shown. */
  at: string | undefined;
  /** How many approvals are pending, and how many servers have failed. */
  waiting: number;
  failed: number;
  onGo?: () => void;
}

/** The pages of the navigation; Settings is separate, at the end. */
export function NavigationPages({ at, waiting, failed, onGo }: NavigationPagesProps) {
  return (
    <ul className="flex min-h-full flex-col gap-0.5" aria-label={pagesLabel}>
      {navigationPages.map(({ to, text, icon: Icon }) => (
        <li key={to} className="last:mt-auto last:pt-2">
          <Link
            to={to}
            onClick={onGo}
            activeOptions={{ exact: true }}
            aria-current={to === at ? 'page' : undefined}
            className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm text-ink2 outline-offset-[-2px] hover:bg-hover hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
          >
            <Icon className="size-4 shrink-0" aria-hidden />
            {text}
            {to === '/approvals' && waiting > 0 && (
              <span className="ml-auto rounded-full bg-warn-soft px-1.5 text-xs font-semibold text-warn">
                {waiting}
              </span>
            )}
            {to === '/servers' && failed > 0 && (
              // Hidden: the name of the link stays the same. The overview and the page say it.
              <span
                aria-hidden
                title={failed === 1 ? '1 server has failed' : `${failed} servers have failed`}
                className="ml-auto rounded-full bg-bad-soft px-1.5 text-xs font-semibold text-bad"
              >
                {failed}
              </span>
            )}
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** All pages on narrow screens, where the bar has space for only four. */
export function PlacesSheet({
  onClose,
  ...rest
}: Omit<NavigationPagesProps, 'onGo'> & { onClose: () => void }) {
  return (
    <Modal label={pagesLabel} onClose={onClose} className="max-w-sm">
      <div className="flex items-center pt-3 pr-3 pl-5">
        {/* Otherwise the close button would be focused first, and its tooltip would cover the content. */}
        <h2 data-first tabIndex={-1} className="flex-1 text-lg font-semibold outline-none">
          {pagesLabel}
        </h2>
        <IconButton label={texts.actions.close} onClick={onClose}>
          <X className="size-4" aria-hidden />
        </IconButton>
      </div>
      <ScrollArea aria-label={pagesLabel} className="min-h-0 px-3 pt-1 pb-4">
        <NavigationPages {...rest} onGo={onClose} />
      </ScrollArea>
    </Modal>
  );
}
