import { Boundary } from '@/components/page';
import { UsagePage } from '@/features/usage/usage-page';
import { texts } from '@/lib/texts';
import { useCostedTools } from './tool-context-costs';

export function UsageRoute() {
  const { tools } = useCostedTools();
  return (
    <Boundary title={texts.usage.title}>
      <UsagePage costs={tools} />
    </Boundary>
  );
}
