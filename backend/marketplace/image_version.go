package marketplace

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// engineTimeout is the timeout for a request to a Docker Engine, because the list of servers waits
// for it.
const engineTimeout = 3 * time.Second

// ResolveImage returns which image a server runs, according to its Docker Engine. found is the
// registry digest, else the image id; it is empty if the Engine does not answer. pin is the
// image reference that selects exactly this image, "" if spec does already. named is spec
// with the name that the Engine knows for an image that is written as an id.
func ResolveImage(ctx context.Context, s *config.Server, spec Spec) (found Resolved, pin string, named Spec) {
	engine, ok := dockerEngineOf(s)
	if !ok || strings.Contains(spec.Text, "${") {
		return Resolved{}, "", spec
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	is, err := dockerexec.Identify(ctx, engine, s.ID, spec.Text)
	if err != nil {
		return Resolved{}, "", spec
	}
	if len(is.Tags) > 0 {
		spec = spec.WithImageName(is.Tags[0])
	}
	found = Resolved{is.ID, FromImage}
	if is.Running {
		found.Source = FromContainer
	}
	pin = is.ID // a locally built image has no other permanent name
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

// LatestImage returns the digest that the image's tag currently has in the registry.
func LatestImage(ctx context.Context, s *config.Server, spec Spec) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, registryTimeout)
	defer cancel()
	engine, ok := dockerEngineOf(s)
	if !ok || spec.Package == "" {
		return "", core.Errorf(core.CodeValidation, "cannot determine the registry of the image")
	}
	ref := spec.Package
	if spec.tag != "" {
		ref += ":" + spec.tag
	}
	return dockerexec.LatestDigest(ctx, engine, ref)
}

// dockerEngineOf returns the Docker Engine that a server's entry selects. ok is false for podman,
// and if the entry contains unexpanded variables.
func dockerEngineOf(s *config.Server) (e dockerexec.Engine, ok bool) {
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
