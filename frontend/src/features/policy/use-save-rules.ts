import { useMutation, useQueryClient } from '@tanstack/react-query';
import { withRules } from '@/lib/argument-rules';
import { configQuery, restoreConfig, saveConfig } from '@/lib/config-file';
import { RequestError } from '@/lib/request';
import { texts } from '@/lib/texts';
import { toast } from '@/lib/toast';
import type { ConfigFile } from '@/types/api';

/** Writes a list of rules to the file that they are based on, with undo. */
export function useSaveRules(onSaved: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ file, rules }: { file: ConfigFile; rules: string }) => {
      const text = withRules(file.text, rules);
      if (text === undefined) throw new RequestError(texts.rules.invalid, 0, 'validation');
      return saveConfig(text, file.etag);
    },
    onSuccess: (saved, { file }) => {
      client.setQueryData(configQuery.queryKey, saved);
      toast('ok', texts.rules.saved, {
        text: texts.care.undo,
        run: () => restoreConfig(client, file.text, saved.etag),
      });
      onSaved();
    },
    onError: () => client.invalidateQueries({ queryKey: configQuery.queryKey }),
  });
}
