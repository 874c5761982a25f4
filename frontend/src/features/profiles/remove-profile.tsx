import { Confirm } from '@/components/confirm';
import { joined } from '@/components/more';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Profile } from '@/types/api';
import { useDeleteProfile } from './api';

/** Confirms the deletion of a profile, which is blocked while clients use it. */
export function RemoveProfile({
  profile,
  onDone,
  onClose,
}: {
  profile: Profile;
  onDone: () => void;
  onClose: () => void;
}) {
  const remove = useDeleteProfile();
  const bound = profile.clients.length;
  return (
    <Confirm
      title={`Delete profile ${escapeControlCharacters(profile.name)}?`}
      action="Delete profile"
      of={remove}
      blocked={bound > 0}
      onConfirm={() => remove.mutate(profile, { onSuccess: onDone })}
      onClose={onClose}
    >
      <p>Its URL will stop working. Servers and tools will not be removed.</p>
      {bound > 0 && (
        <p className="mt-2 text-warn">
          {texts.profiles.removeBound(bound, escapeControlCharacters(joined(profile.clients, 20)))}
        </p>
      )}
    </Confirm>
  );
}
