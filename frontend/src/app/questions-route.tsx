import { Boundary } from '@/components/page';
import { QuestionsPage } from '@/features/questions/questions-page';
import { useServerLabel } from '@/features/servers/api';
import { ToolChanges } from '@/features/trust/changes';
import { useConnection } from '@/lib/connection';
import { texts } from '@/lib/texts';

export function QuestionsRoute() {
  const { epoch } = useConnection();
  return (
    <Boundary epoch={epoch} title={texts.questions.title}>
      <QuestionsPage
        labelOf={useServerLabel()}
        changesOf={(server) => <ToolChanges server={server} />}
      />
    </Boundary>
  );
}
