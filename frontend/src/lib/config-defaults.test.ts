import { expect, it } from 'vitest';
import schema from '../../../config/schema.json';
import { readAtStart, savedText } from './config-file';
import { texts } from './texts';

const t = texts.servers.config;

it('the defaults that forms name are those of the schema', () => {
  const { server, sandbox } = schema.$defs;
  const {
    policy: { properties: policy },
    globalSettings: { properties: global },
  } = schema.properties;
  const seconds = (ms: number) => `Default (${ms / 1000})`;
  expect(t.defaults).toMatchObject({
    start: `Default (${t.starts[server.properties.start.default as 'auto'].replace('W', 'w')})`,
    approval: `Default (${t.approvals[policy.approval.default as 'never'].toLowerCase()})`,
    network: `Default (${sandbox.properties.network.default})`,
    startupTimeoutMs: seconds(server.properties.startupTimeoutMs.default),
    timeout: seconds(global.timeout.default),
  });
});

it('a change of a setting that is read at the start is not said to be applied', () => {
  type Section = { properties?: Record<string, { description?: string }> };
  const sections = Object.entries(schema.properties as unknown as Record<string, Section>);
  const read = sections.flatMap(([section, { properties = {} }]) =>
    Object.entries(properties)
      .filter(([, { description = '' }]) => description.includes('at the next start'))
      .map(([name]) => [section, name]),
  );
  expect(readAtStart).toEqual(read);
  expect(savedText('{}', '{"bridge": {"listen": "127.0.0.1:1"}}')).toBe(
    texts.settings.savedForRestart,
  );
  expect(savedText('{"a": 1}', '{"a": 2}')).toBe(texts.settings.saved);
});
