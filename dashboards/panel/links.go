// SPDX-License-Identifier: Apache-2.0

package panel

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Tag is on every board of ours: by it they find each other.
const Tag = "fabricd"

// Uids of the boards, by which links find them.
const (
	FleetUID   = "fabricd-fleet"
	NodeUID    = "fabricd-node"
	CablingUID = "fabricd-cabling"
	HealthUID  = "fabricd-health"
)

// Board begins a board: its links to the others keep time, datasource and cluster.
func Board(title, uid, description string) *dashboard.DashboardBuilder {
	return dashboard.NewDashboardBuilder(title).
		Uid(uid).
		Description(description).
		Tags([]string{Tag}).
		Time("now-6h", "now").
		Timezone("browser").
		Refresh("30s").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("fabricd's boards").
			Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{Tag}).
			IncludeVars(true).
			KeepTime(true))
}

// A Link leads from a cell or a series to a board about a node.
type Link struct {
	UID  string
	Node string // the variable of Grafana that holds the node's instance
}

// Where a link finds the node: in the row's first field, in a field by its
// name, in a label of the series.
const (
	FirstField  = "${__data.fields[0]}"
	SeriesLabel = "${__field.labels.instance}"
)

// Field names a field of the row.
func Field(name string) string { return "${__data.fields." + name + "}" }

// ToNode leads to the node's own board.
func ToNode(node string) *Link { return &Link{NodeUID, node} }

// Node is the label of a table's node, which leads to its board.
func Node() Label { return Label{Name: "instance", Title: "Node", Link: ToNode(Field("Node"))} }

// property puts the link on what a field shows.
func (l *Link) property() dashboard.DynamicConfigValue {
	return dashboard.DynamicConfigValue{Id: "links", Value: []map[string]any{{
		"title": "The node", "url": "/d/" + l.UID + "?${datasource:queryparam}&${cluster:queryparam}&var-instance=" + l.Node + "&${__url_time_range}",
	}}}
}

// linked puts a link, if there is one, on all numbers of a panel.
func linked[B interface {
	OverrideByFieldType(string, []dashboard.DynamicConfigValue) B
}](b B, l *Link) B {
	if l == nil {
		return b
	}
	return b.OverrideByFieldType("number", []dashboard.DynamicConfigValue{l.property()})
}

// AddVariables puts variables on a board.
func AddVariables(b *dashboard.DashboardBuilder, list []cog.Builder[dashboard.VariableModel]) {
	for _, v := range list {
		b.WithVariable(v)
	}
}
