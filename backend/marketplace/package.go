package marketplace

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Launchers that download what they run.
const (
	NPX   = "npx"
	UVX   = "uvx"
	Image = "image"
)

// Spec is the part of a server's entry that names a package and its version.
type Spec struct {
	Launcher string `json:"launcher" enum:"npx,uvx,image"`
	Package  string `json:"package"` // without a version
	Wanted   string `json:"wanted"`  // version, tag or digest as written; "" for none
	Text     string `json:"text"`    // original text
	Arg      int    `json:"-"`       // index in the arguments; -1: docker.image
	prefix   string // prefix of the argument, such as --from=
	pip      bool   // a Python tool that supports == of pip and possibly not @
	tag      string // tag of the image, also if there is a digest
}

// Find returns the package of a server's entry. ok is false for variables, directories and
// repositories, whose version can neither be determined nor changed.
func Find(s *config.Server) (Spec, bool) {
	if s.Type == core.Docker {
		return parseImage(s.Docker.Image, -1)
	}
	name := strings.ToLower(filepath.Base(strings.ReplaceAll(s.Command, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ending)
	}
	switch name {
	case "npx":
		return findInArgs(s.Args, NPX, map[string]bool{"-p": true, "--package": true}, map[string]bool{"-c": true, "--call": true, "-w": true, "--workspace": true})
	case "uvx":
		return findInArgs(s.Args, UVX, map[string]bool{"--from": true}, uvValues)
	case "uv":
		return findAfterVerb(s.Args, []string{"tool", "run"}, map[string]bool{"--from": true})
	case "pipx":
		spec, ok := findAfterVerb(s.Args, []string{"run"}, map[string]bool{"--spec": true})
		spec.pip = true
		return spec, ok
	case "docker", "podman":
		if at, ok := dockerexec.RunImage(s.Args); ok {
			return parseImage(s.Args[at], at)
		}
	}
	return Spec{}, false
}

var uvValues = map[string]bool{
	"--with": true, "-w": true, "--with-editable": true, "--project": true, "--color": true, "--python": true, "-p": true, "--index": true, "--index-url": true, "-i": true, "--default-index": true,
	"--extra-index-url": true, "--with-requirements": true, "--directory": true, "--cache-dir": true, "--pip-args": true, "--config-file": true, "--refresh-package": true,
}

// findAfterVerb parses the arguments of uv or pipx, which run a package after verb.
func findAfterVerb(args, verb []string, named map[string]bool) (Spec, bool) {
	n := 0
	for n < len(args) && strings.HasPrefix(args[n], "-") {
		if uvValues[args[n]] {
			n++
		}
		n++
	}
	end := n + len(verb)
	if end > len(args) || !slices.Equal(args[n:end], verb) {
		return Spec{}, false
	}
	spec, ok := findInArgs(args[end:], UVX, named, uvValues)
	spec.Arg += end
	return spec, ok
}

// findInArgs parses the arguments of npx or uvx. named are the options whose value is the package,
// values the options with another value.
func findInArgs(args []string, launcher string, named, values map[string]bool) (Spec, bool) {
	for n := 0; n < len(args); n++ {
		option, value, joined := strings.Cut(args[n], "=")
		switch {
		case named[option] && joined:
			s, ok := parsePackage(launcher, value, n, option+"=")
			s.pip = true
			return s, ok
		case named[option] && n+1 < len(args):
			s, ok := parsePackage(launcher, args[n+1], n+1, "")
			s.pip = true
			return s, ok
		case values[option] && !joined:
			n++
		case strings.HasPrefix(args[n], "-"):
		default:
			return parsePackage(launcher, args[n], n, "")
		}
	}
	return Spec{}, false
}

var (
	npmName      = osutil.LazyRegexp(`^(@[a-z0-9~_.-]+/)?[A-Za-z0-9~_-][A-Za-z0-9~_.-]*$`)
	pyName       = osutil.LazyRegexp(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9,._-]+\])?$`)
	imageName    = osutil.LazyRegexp(`^[a-z0-9][a-z0-9._:/-]*$`)
	exactVersion = osutil.LazyRegexp(`^v?\d+(\.\d+)*([-+.]?[A-Za-z0-9.-]+)?$`)
	imageTag     = osutil.LazyRegexp(`^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|sha256:[a-f0-9]{64})$`)
	imageID      = osutil.LazyRegexp(`^sha256:[a-f0-9]{64}$`)
	versionTag   = osutil.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$`)
)

func parsePackage(launcher, text string, arg int, prefix string) (Spec, bool) {
	s := Spec{Launcher: launcher, Text: text, Arg: arg, prefix: prefix, Package: text}
	if i := strings.LastIndex(text, "@"); i > 0 {
		s.Package, s.Wanted = text[:i], text[i+1:]
	}
	pattern := npmName
	if launcher == UVX {
		pattern = pyName
		if name, version, ok := strings.Cut(text, "=="); ok {
			s.Package, s.Wanted = name, version
		}
	}
	return s, pattern().MatchString(s.Package) && !strings.Contains(text, "${")
}

func parseImage(text string, arg int) (Spec, bool) {
	s := Spec{Launcher: Image, Text: text, Arg: arg, Package: text}
	if imageID().MatchString(text) { // an image without a registry
		s.Package, s.Wanted = "", text
		return s, true
	}
	name, digest, digested := strings.Cut(text, "@")
	s.Package = name
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		s.Package, s.tag = name[:i], name[i+1:]
	}
	s.Wanted = s.tag
	if digested {
		s.Wanted = digest
	}
	return s, imageName().MatchString(s.Package)
}

// WithImageName returns s with the name and tag from text, if s is an image that is written as an
// id.
func (s Spec) WithImageName(text string) Spec {
	if other, ok := parseImage(text, s.Arg); ok && s.Launcher == Image && s.Package == "" {
		s.Package, s.tag = other.Package, other.tag
	}
	return s
}

// Pinned reports whether the entry selects one immutable version.
func (s Spec) Pinned() bool {
	if s.Launcher == Image {
		return imageID().MatchString(s.Wanted)
	}
	return exactVersion().MatchString(s.Wanted)
}

// At returns the text that selects another version of the same package. ok is false if
// version is not a valid version.
func (s Spec) At(version string) (text string, ok bool) {
	switch s.Launcher {
	case Image:
		name := s.Package
		if strings.HasPrefix(version, "sha256:") {
			if s.tag != "" { // the Engine uses the digest only; the tag is used to check for updates
				name += ":" + s.tag
			}
			return name + "@" + version, name != "" && imageTag().MatchString(version)
		}
		return name + ":" + version, name != "" && imageTag().MatchString(version)
	case UVX:
		if strings.Contains(s.Text, "==") || s.pip {
			return s.Package + "==" + version, versionTag().MatchString(version)
		}
	}
	return s.Package + "@" + version, versionTag().MatchString(version)
}

// Apply returns the server with the text that names the package replaced.
func (s Spec) Apply(server config.Server, text string) config.Server {
	if s.Arg < 0 {
		server.Docker.Image = text
		return server
	}
	server.Args = append([]string{}, server.Args...)
	server.Args[s.Arg] = s.Argument(text)
	return server
}

// Argument returns text as it is written in the arguments.
func (s Spec) Argument(text string) string { return s.prefix + text }

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
