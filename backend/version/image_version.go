package version

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// askLimit bounds a question to an Engine: a list of servers waits for it.
const askLimit = 3 * time.Second

// OfImage asks the Engine which image a server runs. found is the digest that its registry
// calls it by, or else its id; empty when the Engine does not say. pin is the text that
// names just this image, "" when spec does already. named is spec with the name of an
// image that is written as an id, as far as the Engine knows it.
func OfImage(ctx context.Context, s *config.Server, spec Spec) (found Resolved, pin string, named Spec) {
	engine, ok := engineOf(s)
	if !ok || strings.Contains(spec.Text, "${") {
		return Resolved{}, "", spec
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	is, err := dockerexec.Identify(ctx, engine, s.ID, spec.Text)
	if err != nil {
		return Resolved{}, "", spec
	}
	if len(is.Tags) > 0 {
		spec = spec.Named(is.Tags[0])
	}
	found = Resolved{is.ID, FromImage}
	if is.Running {
		found.Source = FromContainer
	}
	pin = is.ID // an image that was built here has no other name that lasts
	if digest := is.Digest(spec.Package); digest != "" {
		found.Version = digest
		if text, ok := spec.At(digest); ok {
			pin = text
		}
	}
	if spec.Pinned() || !imageID().MatchString(found.Version) {
		pin = ""
	}
	return found, pin, spec
}

// LatestImage asks the registry for the digest that the image's tag has there now.
func LatestImage(ctx context.Context, s *config.Server, spec Spec) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	engine, ok := engineOf(s)
	if !ok || spec.Package == "" {
		return "", core.Errorf(core.CodeValidation, "it is not known which registry to ask")
	}
	ref := spec.Package
	if spec.tag != "" {
		ref += ":" + spec.tag
	}
	return dockerexec.Newest(ctx, engine, ref)
}

// engineOf is the Engine that a server's entry means; ok is false where that takes more
// than to read it, and for podman.
func engineOf(s *config.Server) (e dockerexec.Engine, ok bool) {
	if s.Type == core.Docker {
		e = dockerexec.Engine{Host: s.Docker.Host, Context: s.Docker.Context}
	} else {
		if name := strings.ToLower(filepath.Base(strings.ReplaceAll(s.Command, `\`, "/"))); strings.HasPrefix(name, "podman") {
			return e, false
		}
		e = dockerexec.RunEngine(s.Args)
		if e == (dockerexec.Engine{}) {
			e = dockerexec.Engine{Host: s.Env["DOCKER_HOST"], Context: s.Env["DOCKER_CONTEXT"]}
		}
	}
	return e, !strings.Contains(e.Host+e.Context, "${")
}
