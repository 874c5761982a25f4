//go:build !darwin || cgo

package tray

import "fyne.io/systray"

// clientEntry is the menu entry of one client with its submenu: no profile, or one of the profiles.
type clientEntry struct {
	line, none *systray.MenuItem
	profiles   [maxProfiles]*systray.MenuItem
}

// profileMenu holds the entries that assign clients to profiles. Clients and profiles retain their
// entries, so that no entry changes its meaning under the pointer.
type profileMenu struct {
	top, edit *systray.MenuItem
	entries   [maxClients]clientEntry

	// Names by place; "" is free. They are protected by view.mu.
	clients  []string
	profiles []string
}

func (v *view) buildProfiles() {
	p := &v.profiles
	p.clients, p.profiles = make([]string, maxClients), make([]string, maxProfiles)
	p.top = v.add(systray.AddMenuItem("Profiles", ""), shownState{title: "Profiles", hidden: true})
	for i := range p.entries {
		e := &p.entries[i]
		e.line = v.add(p.top.AddSubMenuItem("", ""), shownState{hidden: true})
		e.none = v.add(e.line.AddSubMenuItemCheckbox("No profile", "", false), shownState{title: "No profile"})
		for j := range e.profiles {
			e.profiles[j] = v.add(e.line.AddSubMenuItemCheckbox("", "", false), shownState{hidden: true})
		}
	}
	p.edit = p.top.AddSubMenuItem("Edit profiles…", "")
}

func (v *view) updateProfiles(m Menu) {
	lines := make(map[string]ClientLine, len(m.Clients))
	order := make([]string, len(m.Clients))
	for i, c := range m.Clients {
		lines[c.Client], order[i] = c, c.Client
	}
	p := &v.profiles
	v.mu.Lock()
	p.clients, p.profiles = assignEntries(p.clients, order), assignEntries(p.profiles, m.Profiles)
	clients, profiles := p.clients, p.profiles
	v.mu.Unlock()
	for i, e := range p.entries {
		c, used := lines[clients[i]]
		if !used {
			v.set(e.line, shownState{hidden: true})
			continue
		}
		v.set(e.none, shownState{title: "No profile", checked: c.Profile == ""})
		for j, name := range profiles {
			v.set(e.profiles[j], shownState{title: name, hidden: name == "", checked: name != "" && name == c.Profile})
		}
		v.set(e.line, shownState{title: c.Text})
	}
	v.set(p.top, shownState{title: m.ProfilesTitle, hidden: len(m.Clients) == 0})
}

// assignProfile returns an action that assigns the client at place i to the profile at place j, or
// to none if j is negative.
func (v *view) assignProfile(i, j int) func() {
	return v.changing(func(MenuState) {
		v.mu.Lock()
		client, profile := v.profiles.clients[i], ""
		if j >= 0 {
			profile = v.profiles.profiles[j]
		}
		v.mu.Unlock()
		if client != "" && (j < 0 || profile != "") {
			v.o.SetProfile(client, profile)
		}
	})
}
