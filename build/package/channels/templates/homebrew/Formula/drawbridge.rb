class Drawbridge < Formula
  desc "Runs your MCP servers and records every call"
  homepage "{{.Repository}}"
  version "{{.Version}}"
  license "Apache-2.0"

  depends_on :linux

  if Hardware::CPU.arm? # a tap may choose the URL so, but not within on_arm
    {{with .Archive "linux-arm64.tar.gz"}}url "{{.URL}}"
    sha256 "{{.SHA256}}"{{end}}
  else
    {{with .Archive "linux-amd64.tar.gz"}}url "{{.URL}}"
    sha256 "{{.SHA256}}"{{end}}
  end

  def install
    bin.install "drawbridge"
    man1.install Dir["man/*.1.gz"]
    bash_completion.install "completions/drawbridge.bash" => "drawbridge"
    zsh_completion.install "completions/_drawbridge"
    fish_completion.install "completions/drawbridge.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/drawbridge --version")
  end
end
