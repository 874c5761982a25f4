package marketplace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Limits on input.
const (
	maxRecord   = 256 << 10
	maxSnapshot = 32 << 20
	maxServers  = 20000
	maxInputs   = 100
	maxText     = 4096
)

// Record is a server.json file that has been checked.
type Record struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Version     string `json:"version,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Repository  *struct {
		URL string `json:"url"`
	} `json:"repository,omitempty"`
	Packages []Package `json:"packages,omitempty"`
	Remotes  []Remote  `json:"remotes,omitempty"`
}

// Package is a program that a package manager downloads and runs.
type Package struct {
	RegistryType         string       `json:"registryType"`
	RegistryBaseURL      string       `json:"registryBaseUrl,omitempty"`
	Identifier           string       `json:"identifier"`
	Version              string       `json:"version,omitempty"`
	RuntimeHint          string       `json:"runtimeHint,omitempty"`
	RuntimeArguments     []Argument   `json:"runtimeArguments,omitempty"`
	PackageArguments     []Argument   `json:"packageArguments,omitempty"`
	EnvironmentVariables []NamedInput `json:"environmentVariables,omitempty"`
	Transport            Remote       `json:"transport"`
}

// Remote is the address of a server.
type Remote struct {
	Type      string           `json:"type"`
	URL       string           `json:"url,omitempty"`
	Headers   []NamedInput     `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"`
}

// Input is a value that is fixed or that the user has to enter.
type Input struct {
	Value       string           `json:"value,omitempty"`
	Default     string           `json:"default,omitempty"`
	Description string           `json:"description,omitempty"`
	IsRequired  bool             `json:"isRequired,omitempty"`
	IsSecret    bool             `json:"isSecret,omitempty"`
	Format      string           `json:"format,omitempty"`
	Choices     []string         `json:"choices,omitempty"`
	Placeholder string           `json:"placeholder,omitempty"`
	Variables   map[string]Input `json:"variables,omitempty"`
}

// NamedInput is an environment variable or a header.
type NamedInput struct {
	Name string `json:"name"`
	Input
}

// Argument is a command-line argument.
type Argument struct {
	Type       string `json:"type"`
	Name       string `json:"name,omitempty"`
	ValueHint  string `json:"valueHint,omitempty"`
	IsRepeated bool   `json:"isRepeated,omitempty"`
	Input
}

// Parse parses and checks a server.json file. The error names the part that cannot be installed
// and the reason. A record returned without an error can be displayed and installed.
func Parse(src []byte) (*Record, error) {
	if len(src) > maxRecord {
		return nil, validationErrorf("server.json is larger than %d KiB", maxRecord>>10)
	}
	var r Record
	if err := json.Unmarshal(src, &r); err != nil {
		return nil, validationErrorf("cannot read server.json: %v", err)
	}
	if err := CheckStrictJSON("server.json", src); err != nil {
		return &r, err
	}
	return &r, r.check()
}

// validationErrorf returns an error for the user: why something cannot be installed.
func validationErrorf(format string, args ...any) error {
	return core.Errorf(core.CodeValidation, "%s", truncate(fmt.Sprintf(format, args...)))
}

func truncate(s string) string { return core.ShortenBytes(s, 400) }

var serverNamePattern = osutil.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9.-]{0,99}/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func (r *Record) check() error {
	if !serverNamePattern().MatchString(r.Name) {
		return validationErrorf("the name %q does not have the form domain/name", r.Name)
	}
	if len(r.Packages)+len(r.Remotes) == 0 {
		return validationErrorf("%s has neither a package nor a URL", r.Name)
	}
	if len(r.Packages)+len(r.Remotes) > 20 {
		return validationErrorf("%s has too many packages", r.Name)
	}
	for _, s := range []string{r.Title, r.Description, r.Version} {
		if err := checkText("text of "+r.Name, s); err != nil {
			return err
		}
	}
	if r.WebsiteURL != "" && !strings.HasPrefix(r.WebsiteURL, "https://") {
		r.WebsiteURL = ""
	}
	if r.Repository != nil && !strings.HasPrefix(r.Repository.URL, "https://") {
		r.Repository = nil
	}
	for i := range r.Packages {
		if err := r.Packages[i].check(); err != nil {
			return err
		}
	}
	for i := range r.Remotes {
		if err := r.Remotes[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// checkText rejects control characters, invalid UTF-8 and text longer than maxText.
func checkText(what, s string) error {
	if len(s) > maxText {
		return validationErrorf("the %s is longer than %d bytes", what, maxText)
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }) {
		return validationErrorf("the %s contains control characters", what)
	}
	return nil
}

// runner describes the program that runs the packages of one registry.
type runner struct {
	program          string
	registryURLs     []string // addresses of the registry that the program uses by default
	identifier       func() *regexp.Regexp
	versionSeparator string // separates identifier and version
	fixedArguments   []string
	allowsOption     func(name, value string, typed bool) bool // reports whether an option of the program is allowed
}

var (
	versionPattern       = osutil.LazyRegexp(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,99}$`)
	pythonVersionPattern = osutil.LazyRegexp(`^3(\.[0-9]{1,2}){0,2}$`)
	memorySizePattern    = osutil.LazyRegexp(`^[0-9.]{1,8}[bkmgBKMG]?$`) // also matches a number of processors
)

var runners = map[string]runner{
	"npm": {
		program: "npx", registryURLs: []string{"https://registry.npmjs.org"}, versionSeparator: "@", fixedArguments: []string{"-y"},
		identifier:   osutil.LazyRegexp(`^(@[a-z0-9][a-z0-9._~-]{0,99}/)?[a-z0-9][a-z0-9._~-]{0,199}$`),
		allowsOption: allowFlags("-y", "--yes", "-q", "--quiet"),
	},
	"pypi": {
		program: "uvx", registryURLs: []string{"https://pypi.org", "https://pypi.org/simple"}, versionSeparator: "@",
		identifier: osutil.LazyRegexp(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,198}[A-Za-z0-9])?$`),
		allowsOption: func(name, value string, _ bool) bool {
			return name == "--python" && pythonVersionPattern().MatchString(value) || allowFlags("-q", "--quiet", "--isolated")(name, value, false)
		},
	},
	"oci": {
		program: "docker", registryURLs: []string{"https://docker.io", "https://ghcr.io", "https://quay.io", "https://mcr.microsoft.com", "https://registry.hub.docker.com"}, versionSeparator: ":",
		identifier:     osutil.LazyRegexp(`^[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{2,5})?(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$`),
		fixedArguments: []string{"run", "-i", "--rm"}, allowsOption: allowDockerOption,
	},
	"nuget": {
		program: "dnx", registryURLs: []string{"https://api.nuget.org", "https://api.nuget.org/v3/index.json"}, versionSeparator: "@", fixedArguments: []string{"--yes"},
		identifier:   osutil.LazyRegexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`),
		allowsOption: allowFlags("--yes", "-y", "--prerelease"),
	},
}

// allowFlags allows options without a value.
func allowFlags(names ...string) func(string, string, bool) bool {
	return func(name, value string, _ bool) bool {
		return value == "" && slices.Contains(names, name)
	}
}

// allowDockerOption allows options that give a container no access beyond itself, and bind mounts
// of directories that the user names. typed reports that the value contains user input.
func allowDockerOption(name, value string, typed bool) bool {
	switch name {
	case "-i", "--interactive", "--rm", "--init", "--read-only":
		return value == "" || value == "true"
	case "-e", "--env":
		key, _, _ := strings.Cut(value, "=")
		return checkVariableName(key) == nil
	case "--network", "--net":
		return value == "none" || value == "bridge"
	case "--mount":
		return typed && strings.HasPrefix(value, "type=bind,") && !strings.Contains(value, "docker.sock")
	case "-v", "--volume":
		return typed && !strings.Contains(value, "docker.sock")
	case "--memory", "-m", "--cpus":
		return memorySizePattern().MatchString(value)
	}
	return false
}

func (p *Package) check() error {
	run, ok := runners[p.RegistryType]
	switch {
	case p.RegistryType == "mcpb":
		return validationErrorf("%q is a bundle: download it and install the file", truncate(p.Identifier))
	case !ok:
		return validationErrorf("packages of type %q cannot be installed; only npm, pypi, oci and nuget are supported", p.RegistryType)
	case p.RuntimeHint != "" && p.RuntimeHint != run.program:
		return validationErrorf("the package requires %q: packages of type %s can only be run with %s", p.RuntimeHint, p.RegistryType, run.program)
	case !run.identifier().MatchString(p.Identifier):
		return validationErrorf("%q is not a valid name for a package of type %s", p.Identifier, p.RegistryType)
	case p.Version != "" && (!versionPattern().MatchString(p.Version) || p.Version == "latest"):
		return validationErrorf("%q is not a fixed package version", p.Version)
	case p.RegistryBaseURL != "" && !slices.Contains(run.registryURLs, strings.TrimSuffix(p.RegistryBaseURL, "/")):
		return validationErrorf("the package comes from %q: for type %s, only the public registry is supported", p.RegistryBaseURL, p.RegistryType)
	case p.Transport.Type != "" && p.Transport.Type != "stdio":
		return validationErrorf("the package serves HTTP (%s), which cannot be installed automatically: add the server manually", truncate(p.Transport.Type))
	case len(p.RuntimeArguments)+len(p.PackageArguments)+len(p.EnvironmentVariables) > maxInputs:
		return validationErrorf("the package has more than %d inputs", maxInputs)
	}
	for _, a := range p.RuntimeArguments {
		if err := a.check(); err != nil {
			return err
		}
		if a.Type == "positional" && p.RegistryType == "oci" && p.isFixedWord(a.Value) {
			continue
		}
		if err := checkRuntimeArgument(run, a); err != nil {
			return err
		}
	}
	for _, a := range p.PackageArguments {
		if err := a.check(); err != nil {
			return err
		}
		if codeOptions[strings.ToLower(a.Name)] {
			return validationErrorf("the argument %q would run arbitrary code", a.Name)
		}
	}
	for _, v := range p.EnvironmentVariables {
		if err := checkVariableName(v.Name); err != nil {
			return err
		}
		if err := v.Input.check("variable "+v.Name, 0); err != nil {
			return err
		}
	}
	return nil
}

// isFixedWord reports whether a word of docker's command line is one that Package.commandLine adds.
func (p *Package) isFixedWord(word string) bool {
	return word == "run" || word == p.Identifier || strings.HasPrefix(p.Identifier, word+":") && word != ""
}

// codeOptions holds options by which interpreters and package managers accept code.
var codeOptions = map[string]bool{
	"--eval": true, "--print": true, "--require": true, "--import": true, "--loader": true, "--experimental-loader": true,
	"--node-options": true, "--node-arg": true, "--call": true, "--script-shell": true, "--inspect": true, "--inspect-brk": true,
}

// checkRuntimeArgument checks an option of npx, uvx, docker or dnx, which could change what the
// program does.
func checkRuntimeArgument(run runner, a Argument) error {
	name, value := a.Name, a.Value
	if a.Type == "positional" {
		name, value, _ = strings.Cut(a.Value, "=")
	}
	asks := a.Value == "" && a.Type == "named" && (a.ValueHint != "" || a.IsRequired || a.Description != "" && a.Default == "" && len(a.Variables) > 0)
	typed := asks || len(a.Variables) > 0 && strings.Contains(a.Value, "{")
	if run.program != "docker" && typed || !run.allowsOption(name, value, typed) {
		return validationErrorf("the option %q of %s is not allowed in an installation", truncate(strings.TrimSpace(name+" "+value)), run.program)
	}
	return nil
}

var argumentNamePattern = osutil.LazyRegexp(`^--?[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

func (a *Argument) check() error {
	what := "argument " + truncate(a.Name+a.ValueHint)
	switch a.Type {
	case "named":
		if !argumentNamePattern().MatchString(a.Name) {
			return validationErrorf("%q is not a valid argument name", a.Name)
		}
	case "positional":
		if a.Name != "" && !argumentNamePattern().MatchString("-"+strings.TrimLeft(a.Name, "-")) {
			return validationErrorf("%q is not a valid argument name", a.Name)
		}
		if strings.HasPrefix(a.Value, "-") || strings.HasPrefix(a.Default, "-") {
			return validationErrorf("the positional argument %q begins with a dash and would be read as an option", truncate(a.Value+a.Default))
		}
	default:
		return validationErrorf("%q is not a valid argument type", a.Type)
	}
	return a.Input.check(what, 0)
}

// check rejects text that would not remain literal: configuration expansion, shell syntax and
// control characters.
func (in *Input) check(what string, depth int) error {
	if depth > 2 || len(in.Variables) > 20 || len(in.Choices) > 200 {
		return validationErrorf("the %s has too many parts", what)
	}
	for _, s := range append([]string{in.Value, in.Default}, in.Choices...) {
		if err := checkLiteral(what, s); err != nil {
			return err
		}
	}
	for _, s := range []string{in.Description, in.Placeholder, in.Format} {
		if err := checkText("description of the "+what, s); err != nil {
			return err
		}
	}
	if in.IsSecret && (in.Default != "" || in.Value != "" && len(in.Variables) == 0) {
		return validationErrorf("the %s is marked as secret, but server.json contains its value", what)
	}
	for name, v := range in.Variables {
		if !variableNamePattern().MatchString(name) {
			return validationErrorf("%q is not a valid variable name in the %s", name, what)
		}
		if len(v.Variables) > 0 {
			return validationErrorf("the %s has too many parts", what)
		}
		if err := v.check(what, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkLiteral checks a value that comes from the record rather than from the user.
func checkLiteral(what, s string) error {
	if err := checkText("value of the "+what, s); err != nil {
		return err
	}
	if i := strings.IndexAny(s, "$`;|&<>\n\r\t\"'\\^%!*"); i >= 0 {
		return validationErrorf("the value of the %s contains %q, which has a special meaning in a shell or in the configuration", what, s[i:i+1])
	}
	return nil
}

var variableNamePattern = osutil.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_.-]{0,99}$`)

// maxNesting is deeper than any legitimate record, manifest or configuration.
const maxNesting = 40

// CheckStrictJSON rejects JSON text that two parsers could interpret differently: duplicate keys
// (ignoring case), excessive nesting, and more than one value. This ensures that what the user was
// shown is what gets installed.
func CheckStrictJSON(what string, src []byte) error {
	type level struct {
		keys  map[string]bool // nil in an array
		value bool            // the next token is a value
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var open []level
	for {
		t, err := d.Token()
		if err == io.EOF && len(open) == 0 {
			return nil
		}
		if err != nil {
			return validationErrorf("cannot read %s: %v", what, err)
		}
		var top *level
		if len(open) > 0 {
			top = &open[len(open)-1]
		}
		if key, ok := t.(string); ok && top != nil && top.keys != nil && !top.value {
			folded := strings.ToLower(key)
			if top.keys[folded] {
				return validationErrorf("%s contains %q twice", what, truncate(key))
			}
			top.keys[folded], top.value = true, true
			continue
		}
		if top != nil {
			top.value = false
		}
		switch t {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > maxNesting {
			return validationErrorf("%s is nested deeper than %d levels", what, maxNesting)
		}
		if len(open) == 0 {
			if _, err := d.Token(); err != io.EOF {
				return validationErrorf("%s contains more than one value", what)
			}
			return nil
		}
	}
}

var envNamePattern = osutil.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// reservedVariables holds environment variables, in upper case, that change how programs start. A
// name that ends in an underscore is a prefix.
var reservedVariables = []string{
	"LD_", "DYLD_", "GCONV_PATH", "NODE_", "NPM_", "NPX_", "YARN_", "PNPM_", "BUN_", "DENO_", "ELECTRON_",
	"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PYTHONUSERBASE", "PYTHONWARNINGS", "PYTHONEXECUTABLE", "PYTHONPLATLIBDIR",
	"UV_", "PIP_", "VIRTUAL_ENV", "CONDA_", "PERL5OPT", "PERL5LIB", "PERL5DB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH",
	"DOTNET_STARTUP_HOOKS", "DOTNET_", "CORECLR_", "COR_", "COMPLUS_", "NUGET_", "DOCKER_", "COMPOSE_", "BUILDKIT_", "GIT_", "SSH_",
	"PATH", "PATHEXT", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "COMSPEC", "SYSTEMROOT", "WINDIR", "SHELL", "SHELLOPTS", "BASHOPTS", "BASH_ENV", "BASH_FUNC_", "ENV", "IFS", "PS4", "PROMPT_COMMAND",
	"EDITOR", "VISUAL", "PAGER", "BROWSER", "TMPDIR", "TMP", "TEMP", "XDG_",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "SSL_", "OPENSSL_", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "DRAWBRIDGE_",
}

// checkVariableName rejects environment variables that could make a server's runtime run something
// else.
func checkVariableName(name string) error {
	if !envNamePattern().MatchString(name) {
		return validationErrorf("%q is not a valid name for an environment variable", name)
	}
	upper := strings.ToUpper(name)
	for _, r := range reservedVariables {
		if upper == r || strings.HasSuffix(r, "_") && strings.HasPrefix(upper, r) {
			return validationErrorf("the variable %s changes how programs start and cannot be set by an installation", name)
		}
	}
	return nil
}

var (
	headerNamePattern = osutil.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	inputVariable     = osutil.LazyRegexp(`\{([A-Za-z_][A-Za-z0-9_.-]{0,99})\}`)
)

func (r *Remote) check() error {
	if r.Type != "streamable-http" && r.Type != "sse" {
		return validationErrorf("%q is not a valid transport: it must be streamable-http or sse", r.Type)
	}
	if strings.ContainsAny(r.URL, "$`\\\"' \n\r\t<>") {
		return validationErrorf("the URL %q contains invalid characters", r.URL)
	}
	if err := requireHTTPSOrLoopback(inputVariable().ReplaceAllString(r.URL, "x")); err != nil {
		return err
	}
	if len(r.Headers)+len(r.Variables) > maxInputs {
		return validationErrorf("the URL has more than %d inputs", maxInputs)
	}
	for _, h := range r.Headers {
		if err := checkHeaderName(h.Name); err != nil {
			return err
		}
		if err := h.Input.check("header "+h.Name, 0); err != nil {
			return err
		}
	}
	for name, v := range r.Variables {
		if !variableNamePattern().MatchString(name) {
			return validationErrorf("%q is not a valid variable name in the URL", name)
		}
		if err := v.check("the URL's "+name, 1); err != nil {
			return err
		}
	}
	return nil
}

func checkHeaderName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case !headerNamePattern().MatchString(name):
	case strings.HasPrefix(lower, "mcp-"), strings.HasPrefix(lower, "proxy-"), strings.HasPrefix(lower, "sec-"):
	case slices.Contains([]string{"host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "te", "trailer", "accept", "origin"}, lower):
	default:
		return nil
	}
	return validationErrorf("the header %q cannot be set by an installation", name)
}

// requireHTTPSOrLoopback rejects addresses other than https, and http on a loopback host.
func requireHTTPSOrLoopback(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return validationErrorf("%q is not a URL", raw)
	case u.User != nil:
		return validationErrorf("the URL of %s contains a user name or password", u.Host)
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && Loopback(u.Hostname()):
		return nil
	}
	return validationErrorf("the URL %q uses neither https nor a loopback host", raw)
}

// Loopback reports whether host is a loopback address or "localhost".
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
