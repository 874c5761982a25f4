package profiles

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"
)

// The estimate is compared with an exact tokenizer, for each kind of text that a model reads from us. Its
// error is published in docs/profiles.md.
func TestEstimateIsNearAnExactTokenizer(t *testing.T) {
	exact, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	texts := map[string][]string{"Chinese": {chinese}, "Japanese": {japanese}}
	file, err := os.Open("../registry/testdata/tool-search-500-tools.jsonl")
	require.NoError(t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var one struct{ Tool json.RawMessage }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &one))
		texts["tool definitions"] = append(texts["tool definitions"], string(one.Tool))
	}
	for kind, pattern := range map[string]string{"prose": "../../docs/*.md", "code": "../bridge/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			texts[kind] = append(texts[kind], string(text))
		}
	}
	for kind, within := range map[string][2]float64{"tool definitions": {-0.15, 0.15}, "prose": {-0.25, 0.25}, "code": {-0.25, 0.25}, "Chinese": {-0.4, 0.4}, "Japanese": {-0.4, 0.4}} {
		bytes, tokens := 0, 0
		for _, text := range texts[kind] {
			n, err := exact.Count(text)
			require.NoError(t, err)
			bytes, tokens = bytes+len(text), tokens+n
		}
		off := float64(bridge.EstimateTokens(bytes))/float64(tokens) - 1
		t.Logf("%s: %d bytes, %d tokens, %.2f bytes per token, estimate off by %+.1f %%", kind, bytes, tokens, float64(bytes)/float64(tokens), 100*off)
		assert.Truef(t, !(off < within[0]) && !(off > within[1]), "%s: the estimate is off by %+.1f %%", kind, 100*off)
	}
}

const (
	chinese  = "返回指定仓库中所有未关闭的问题,按创建时间排序。如果没有给出页码,则返回第一页。每一页最多包含一百个条目。此工具不会修改任何数据,可以安全地重复调用。"
	japanese = "指定されたフォルダーにあるファイルの一覧を返します。隠しファイルは含まれません。パスは絶対パスで指定してください。このツールはデータを変更しないので、何度でも安全に呼び出せます。"
)
