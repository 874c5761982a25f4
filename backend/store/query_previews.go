package store

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/backend/store/fulltext"
)

// Limits of previews.
const (
	MaxPreviews  = 100
	PreviewBytes = 200 // maximum length of an excerpt

	maxPreviewSearch = 16 << 20 // bytes of payloads that one query searches for words
	excerptBefore    = 60       // bytes of an excerpt before the word
)

// Preview contains parts of the payloads of a call, from which secrets were removed.
type Preview struct {
	ID        int64
	Arguments []byte // the beginning of the JSON text, at most 4*PreviewBytes
	// Match is an excerpt of the arguments or the reply around a word of the search that is not at
	// the beginning of the arguments. It is empty if there is none.
	Match   string
	InReply bool // Match is an excerpt of the reply
}

// Previews returns previews of the calls with these ids; unknown ids are skipped. text is the text
// of a search, or "".
func (s *calls) Previews(ctx context.Context, ids []int64, text string) (previews []Preview, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if len(ids) > MaxPreviews {
		return nil, invalid("ids", "must have at most "+strconv.Itoa(MaxPreviews)+" ids")
	}
	words := fulltext.Words(text)
	values := make([]any, len(ids))
	for i, id := range ids {
		values[i] = id
	}
	reply := `NULL, 0`
	if len(words) > 0 {
		reply = `reply, reply_enc`
	}
	type row struct {
		id          int64
		args, reply storedPayload
	}
	err = s.query(ctx, func(ctx context.Context, h *handle) error {
		var rows []row // a block is read with no rows open
		err := eachRow(ctx, h.read, func(r scanner) error {
			var b row
			err := r.Scan(&b.id, &b.args.data, &b.args.enc, &b.reply.data, &b.reply.enc)
			rows = append(rows, b)
			return err
		}, `SELECT id, arguments, arguments_enc, `+reply+` FROM body WHERE id IN (`+placeholders(len(ids))+`) ORDER BY id DESC`, values...)
		if err != nil {
			return err
		}
		previews = make([]Preview, 0, len(rows))
		left := maxPreviewSearch
		for _, b := range rows {
			args, reply, err := payloadReader{h.read, &s.search.lastBlock}.read(ctx, b.args, b.reply)
			if err != nil {
				return err
			}
			p := Preview{ID: b.id, Arguments: slices.Clone(args[:min(len(args), 4*PreviewBytes)])}
			if left -= len(args) + len(reply); len(words) > 0 && left > 0 {
				p.findMatch(words, args, reply)
			}
			previews = append(previews, p)
		}
		return nil
	})
	return previews, err
}

// findMatch sets the excerpt for the first word that occurs, but not at the beginning of the
// arguments.
func (p *Preview) findMatch(words []fulltext.Word, args, reply []byte) {
	args, reply = fulltext.AppendText(nil, args), fulltext.AppendText(nil, reply)
	for _, w := range words {
		at := w.Find(args)
		if at >= 0 && at+len(w.Text) < PreviewBytes {
			continue
		}
		if at >= 0 {
			p.Match, p.InReply = excerpt(args, at), false
			return
		}
		if at = w.Find(reply); at >= 0 {
			p.Match, p.InReply = excerpt(reply, at), true
			return
		}
	}
}

// excerpt returns up to PreviewBytes bytes of text around at, on one line.
func excerpt(text []byte, at int) string {
	part := text[max(0, at-excerptBefore):]
	part = part[:min(len(part), PreviewBytes)]
	return string(bytes.ToValidUTF8(bytes.Join(bytes.Fields(part), []byte(" ")), nil)) // drops cut runes
}
