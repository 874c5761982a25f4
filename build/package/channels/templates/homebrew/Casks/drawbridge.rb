cask "drawbridge" do
  version "{{.Version}}"
  {{with .Archive "macos-universal.zip"}}sha256 "{{.SHA256}}"

  url "{{.URL}}"{{end}}
  name "Drawbridge"
  desc "Runs your MCP servers and records every call"
  homepage "{{.Repository}}"

  depends_on macos: ">= :monterey"

  app "Drawbridge.app"
  binary "#{appdir}/Drawbridge.app/Contents/Helpers/Drawbridge Daemon.app/Contents/MacOS/drawbridge"

  uninstall quit: ["app.drawbridge", "app.drawbridge.daemon"]

  zap trash: [
    "~/Library/Application Support/Drawbridge",
    "~/Library/Logs/Drawbridge",
  ]

  caveats <<~EOS
    Drawbridge is not signed. After the first start, allow it in System Settings > Privacy & Security.
    Before you uninstall it, disconnect your clients: drawbridge uninstall
  EOS
end
