import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ruleEdits } from '@/lib/argument-rules';
import { configQuery, patchConfig, restoreConfig } from '@/lib/config-file';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { ConfigFile, Edit } from '@/types/api';

export const yamlRefused =
  'The configuration file is YAML. Edit policy.rules in that file instead.';

/** Writes edits of the list of rules to the file that they are based on, with undo. */
export function useSaveRules(onSaved: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ file, edits }: { file: ConfigFile; edits: Edit[] }) =>
      patchConfig(ruleEdits(file.text, edits), file.etag),
    onSuccess: (saved, { file }) => {
      client.setQueryData(configQuery.queryKey, saved);
      toast('ok', 'Rules saved.', {
        text: texts.care.undo,
        run: () => restoreConfig(client, file.text, saved.etag),
      });
      onSaved();
    },
    onError: () => client.invalidateQueries({ queryKey: configQuery.queryKey }),
  });
}
