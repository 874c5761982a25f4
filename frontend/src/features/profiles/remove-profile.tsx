import { useQuery } from '@tanstack/react-query';
import { Confirm } from '@/components/confirm';
import { joined } from '@/components/more';
import { count, escapeControlCharacters } from '@/lib/format';
import { profilesQuery } from '@/lib/profiles-query';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { Profile } from '@/types/api';
import { useDeleteProfile } from './api';

/** Asks whether to delete a profile, which its clients then lose. */
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
  const restore = useDeleteProfile(true);
  const { data } = useQuery(profilesQuery);
  const users = (data?.clients ?? []).filter((one) => one.profile === profile.name);
  const name = escapeControlCharacters(profile.name);
  const done = () => {
    toast('ok', `Profile ${name} deleted.`, {
      text: texts.care.undo,
      run: () => restore.mutate({ profile, users }),
    });
    onDone();
  };
  return (
    <Confirm
      title={`Delete profile ${name}?`}
      action={
        users.length === 0
          ? 'Delete profile'
          : `Delete, ${users.length === 1 ? '1 client loses it' : `${count(users.length)} clients lose it`}`
      }
      of={remove}
      onConfirm={() => remove.mutate({ profile, users }, { onSuccess: done })}
      onClose={onClose}
    >
      <p>Its URL will stop working. Servers and tools will not be removed.</p>
      {users.length > 0 && (
        <p className="mt-2 text-warn">
          {`Used by ${escapeControlCharacters(
            joined(
              users.map((one) => one.token),
              20,
            ),
          )}. Without a profile, all tools that the entries offer can be used.`}
        </p>
      )}
    </Confirm>
  );
}
