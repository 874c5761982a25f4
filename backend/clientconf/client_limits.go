package clientconf

import (
	"fmt"
	"strings"
)

// OfferedTool is one tool as a client would see it.
type OfferedTool struct {
	Entry string // the entry through which it is offered: EntryName, or the name of a single-server entry
	Name  string
}

// LimitWarnings returns a sentence for each limit of the client that the offered tools exceed.
func LimitWarnings(client Client, tools []OfferedTool) (all []string) {
	if client.MaxTools > 0 && len(tools) > client.MaxTools {
		all = append(all, fmt.Sprintf("%s supports at most %d tools, but would be offered %d: disable some servers for it, or connect fewer.", client.Name, client.MaxTools, len(tools)))
	}
	var long []string
	for _, t := range tools {
		if client.MaxPrefixedName > 0 && len(strings.ReplaceAll(client.NamePrefix, "{entry}", t.Entry))+len(t.Name) > client.MaxPrefixedName {
			long = append(long, t.Name)
		}
	}
	if n := len(long); n > 0 {
		shown := strings.Join(long[:min(n, 3)], ", ")
		if n > 3 {
			shown += fmt.Sprintf(" and %d more", n-3)
		}
		all = append(all, fmt.Sprintf("%s supports tool names of at most %d characters, including its own prefix. Too long: %s.", client.Name, client.MaxPrefixedName, shown))
	}
	return all
}
