package marketplace

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

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
