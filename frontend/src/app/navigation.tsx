import { Link } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { IconButton } from '@/components/button';
import { Modal } from '@/components/modal';
import { ScrollArea } from '@/components/scroll-area';
import { texts } from '@/lib/texts';
import { groups, pages } from './places';

/** All pages, by what they are for. */
export function Places({ waiting, onGo }: { waiting: number; onGo?: () => void }) {
  return groups.map((group) => {
    const heading = texts.nav.groups[group];
    return (
      <div key={group} className="shrink-0 last:mt-auto last:pt-2">
        {heading && <h2 className="px-2 pt-4 pb-1 text-xs text-ink3">{heading}</h2>}
        <ul className="flex flex-col gap-0.5" aria-label={heading}>
          {pages
            .filter((page) => page.group === group)
            .map(({ to, text, icon: Icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  onClick={onGo}
                  activeOptions={{ exact: to === '/', includeSearch: false }}
                  className="flex items-center gap-2.5 rounded-md px-2 py-1.5 text-sm text-ink2 outline-offset-[-2px] hover:bg-hover hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
                >
                  <Icon className="size-4 shrink-0" aria-hidden />
                  {text}
                  {to === '/questions' && waiting > 0 && (
                    <span className="ml-auto rounded-full bg-warn-soft px-1.5 text-xs font-semibold text-warn">
                      {waiting}
                    </span>
                  )}
                </Link>
              </li>
            ))}
        </ul>
      </div>
    );
  });
}

/** The same on narrow screens, where only four fit into the bar. */
export function PlacesSheet({ waiting, onClose }: { waiting: number; onClose: () => void }) {
  return (
    <Modal label={texts.nav.label} onClose={onClose} className="max-w-sm">
      <div className="flex items-center pt-3 pr-3 pl-5">
        {/* The first thing to focus would be the button, whose tooltip covers what is below. */}
        <h2 data-first tabIndex={-1} className="flex-1 text-lg font-semibold outline-none">
          {texts.nav.label}
        </h2>
        <IconButton label={texts.actions.close} onClick={onClose}>
          <X className="size-4" aria-hidden />
        </IconButton>
      </div>
      <ScrollArea aria-label={texts.nav.label} className="min-h-0 px-3 pt-1 pb-4">
        <Places waiting={waiting} onGo={onClose} />
      </ScrollArea>
    </Modal>
  );
}
