import { Ban, Ellipsis, Play, Power, RotateCw, Square } from 'lucide-react';
import { Button, IconButton } from '@/components/button';
import { Menu } from '@/components/menu';
import { useConnection } from '@/lib/connection';
import { texts } from '@/lib/texts';
import type { ServerStatus, State } from '@/types/api';
import { type ServerAction, useServerAction } from './api';

export const moreActions = (server: string) => `More actions for ${server}`;

export const actionIcons = {
  start: Play,
  stop: Square,
  restart: RotateCw,
  enable: Power,
  disable: Ban,
};

/** The actions for a server in a state, the most likely one first. */
export function actionsFor(state: State): ServerAction[] {
  switch (state) {
    case 'disabled':
      return ['enable'];
    case 'paused':
      return []; // nothing runs before all are resumed
    case 'stopped':
      return ['start', 'disable'];
    case 'crashed':
      return ['restart', 'disable'];
    default:
      return ['restart', 'stop', 'disable'];
  }
}

/** All actions as buttons, for the page of a server. */
export function ServerButtons({ server }: { server: ServerStatus }) {
  const action = useServerAction(server);
  const off = useConnection().phase === 'reconnecting';
  return (
    <>
      {actionsFor(server.state).map((name, index) => {
        const Icon = actionIcons[name];
        return (
          <Button
            key={name}
            look={index === 0 ? 'secondary' : 'quiet'}
            className="max-[22rem]:px-1.5"
            disabled={action.isPending || off}
            onClick={() => action.mutate(name)}
          >
            <Icon className="size-3.5" aria-hidden />
            {texts.actions[name]}
          </Button>
        );
      })}
    </>
  );
}

/** The most likely action as an icon button and the others in a menu, for a row. */
export function ServerMenu({ server }: { server: ServerStatus }) {
  const action = useServerAction(server);
  const off = useConnection().phase === 'reconnecting';
  const [first, ...others] = actionsFor(server.state);
  const label = server.label || server.id;
  const FirstIcon = first && actionIcons[first];
  return (
    <div className="flex min-w-16 items-center justify-end">
      {first && FirstIcon && (
        <IconButton
          label={`${texts.actions[first]} ${label}`}
          disabled={action.isPending || off}
          onClick={() => action.mutate(first)}
        >
          <FirstIcon className="size-4" aria-hidden />
        </IconButton>
      )}
      {others.length > 0 && (
        <Menu
          items={others.map((name) => ({
            text: texts.actions[name],
            icon: actionIcons[name],
            disabled: off,
            onSelect: () => action.mutate(name),
          }))}
        >
          <button
            type="button"
            aria-label={moreActions(label)}
            className="inline-flex size-8 items-center justify-center rounded-md text-ink2 hover:bg-hover hover:text-ink"
          >
            <Ellipsis className="size-4" aria-hidden />
          </button>
        </Menu>
      )}
    </div>
  );
}
