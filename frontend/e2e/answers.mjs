// Changes what the real daemon answers, in the page.

/**
 * Passes every JSON response and every event of the API through `change(value, path, extra)`, which
 * returns what the page gets; the path of an event is its name. The function runs in the page, so it
 * must not use names from outside; `extra` is JSON. Call it before the page is opened.
 */
export function changeAnswers(page, change, extra) {
  page.changed = true; // so that no other flow gets this tab
  return page.addInitScript(`(${wrapFetch})(${change}, ${JSON.stringify(extra ?? null)})`);
}

function wrapFetch(change, extra) {
  const { fetch } = window;
  window.fetch = async (address, init) => {
    const response = await fetch(address, init);
    const path = String(address).replace(/^.*?\/api\/v1/, '');
    const type = response.headers.get('Content-Type') ?? '';
    const made = (body) =>
      new Response(body, { status: response.status, headers: response.headers });
    if (type.includes('json') && response.status !== 204) {
      const text = await response.text();
      return made(text && JSON.stringify(change(JSON.parse(text), path, extra)));
    }
    if (!type.includes('event-stream')) return response;
    let rest = '';
    const events = new TransformStream({
      transform(chunk, controller) {
        const blocks = (rest + chunk).split('\n\n');
        rest = blocks.pop();
        for (const block of blocks) {
          const [, name, data] = /^event: (.*)\ndata: (.*)$/m.exec(block) ?? [];
          const text = data
            ? `event: ${name}\ndata: ${JSON.stringify(change(JSON.parse(data), name, extra))}`
            : block;
          controller.enqueue(`${text}\n\n`);
        }
      },
    });
    return made(
      response.body
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(events)
        .pipeThrough(new TextEncoderStream()),
    );
  };
}

/** Changes the JSON of the responses whose address matches, in place: `change(json, url)`. */
export function changeResponse(page, pattern, change) {
  return page.route(pattern, async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    change(json, new URL(route.request().url()));
    await route.fulfill({ response, json });
  });
}

/** Changes fields of the call or server with this ID in all answers. */
export const changeItem = (page, id, fields) =>
  changeAnswers(
    page,
    (value, _path, changed) =>
      JSON.parse(JSON.stringify(value), (_, one) =>
        one?.id === changed.id ? { ...one, ...changed.fields } : one,
      ),
    { id, fields },
  );

/** Makes the suggested conditions of a rule known. */
export const suggestWhere = (page) =>
  changeResponse(page, '**/policy/suggest', (suggestion) => {
    suggestion.where = [
      '{"/path":{"under":"/home/ada/projects"}}',
      '{"/mode":{"glob":"overwrite"}}',
    ];
  });

/** Refuses the requests whose address matches. */
export const refuse = (page, pattern, status, detail) =>
  page.route(pattern, (route) =>
    route.fulfill({
      status,
      contentType: 'application/problem+json',
      body: JSON.stringify({ status, code: status === 401 ? 'unauthorized' : 'internal', detail }),
    }),
  );
