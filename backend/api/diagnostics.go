package api

import (
	"bytes"
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/doctor"

	"github.com/danielgtaylor/huma/v2"
)

func (a *API) registerDiagnostics(doc huma.API) {
	op(a, doc, "GET", "/api/v1/diagnostics", "Diagnostics for a bug report, with the text of each file; secrets are redacted", a.diagnostics)
	op(a, doc, "GET", "/api/v1/diagnostics/zip", "Diagnostics as a zip file", a.diagnosticsZip)
}

func (a *API) diagnostics(ctx context.Context, _ *none) (*answer[List[doctor.File]], error) {
	files, err := a.bundleFiles(ctx)
	if err != nil {
		return nil, err
	}
	return reply(List[doctor.File]{Items: files})
}

func (a *API) diagnosticsZip(ctx context.Context, _ *none) (*bundleAnswer, error) {
	files, err := a.bundleFiles(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var b bytes.Buffer
	if err := doctor.WriteZip(&b, files, now); err != nil {
		return nil, err
	}
	return &bundleAnswer{"application/zip", `attachment; filename="` + doctor.BundleName(now) + `"`, b.Bytes()}, nil
}

func (a *API) bundleFiles(ctx context.Context) ([]doctor.File, error) {
	o := a.DiagnosticSources(ctx)
	o.Version, o.Now, o.Redact = a.Version, time.Now(), a.Redact
	o.Documents = map[string]any{"servers": a.Servers.Statuses(), "config-problems": a.ConfigEditor.Problems(), "sessions": len(a.Bridge.Sessions())}
	o.Documents["status"] = a.statusNow()
	if findings, err := a.examine(ctx, nil); err == nil {
		o.Documents["doctor"] = findings.Body.Items
	}
	tokens, err := a.Tokens.ListWithSecrets()
	if err != nil {
		return nil, err
	}
	for _, t := range tokens {
		o.Secrets = append(o.Secrets, t.Token)
	}
	o.Secrets = append(o.Secrets, a.Secrets.KnownSecrets()...)
	return doctor.Bundle(o), nil
}
