// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// datasources reports what asks another datasource than the one picked in the
// variable: such a board works on its author's Grafana only.
func datasources(d dashboard.Dashboard) error {
	var faults []error
	picked := ""
	for _, v := range d.Templating.List {
		if v.Type == dashboard.VariableTypeDatasource {
			picked = "${" + v.Name + "}"
		}
	}
	if picked == "" {
		return errors.New("no datasource variable")
	}
	check := func(what string, ref *common.DataSourceRef) {
		if at := deref(ref); deref(at.Uid) != picked || deref(at.Type) != "prometheus" {
			faults = append(faults, fmt.Errorf("%s: datasource is not prometheus %s", what, picked))
		}
	}
	for _, v := range d.Templating.List {
		if v.Type == dashboard.VariableTypeQuery {
			check("variable "+v.Name, v.Datasource)
		}
	}
	for _, p := range panels(d) {
		check(title(p), p.Datasource)
		list, err := queries(p)
		faults = append(faults, err)
		for _, q := range list {
			check(target(p, q), q.Datasource)
		}
	}
	return errors.Join(faults...)
}

// variable matches a use of a variable: $name or ${name} or ${name:format}.
var variable = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

// builtin are the variables that Grafana sets and our boards use.
var builtin = map[string]bool{
	"__range": true, "__rate_interval": true, "__interval": true, "__all": true,
	"__data": true, "__field": true, "__url_time_range": true,
}

// variables reports uses of variables that are not defined. Dollars that are
// not followed by a name ($1 in label_replace) are none.
func variables(raw []byte, d dashboard.Dashboard) error {
	defined := map[string]bool{}
	for _, v := range d.Templating.List {
		defined[v.Name] = true
	}
	var faults []error
	for _, use := range variable.FindAllSubmatch(raw, -1) {
		name := string(use[1])
		if !defined[name] && !builtin[name] {
			faults = append(faults, fmt.Errorf("variable $%s is not defined", name))
			defined[name] = true // say it once
		}
	}
	return errors.Join(faults...)
}

// enumFields are fields whose empty value the SDK writes but no version of
// Grafana knows.
var enumFields = map[string]bool{"mode": true, "orientation": true, "displayMode": true, "placement": true, "sort": true, "format": true}

// enums reports such empty values, with their path.
func enums(raw []byte) error {
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return err
	}
	return errors.Join(emptyEnums("", tree)...)
}

func emptyEnums(path string, node any) []error {
	var faults []error
	switch n := node.(type) {
	case map[string]any:
		for key, value := range n {
			if value == "" && enumFields[key] {
				faults = append(faults, fmt.Errorf("%s.%s is empty", path, key))
			}
			faults = append(faults, emptyEnums(path+"."+key, value)...)
		}
	case []any:
		for i, value := range n {
			faults = append(faults, emptyEnums(fmt.Sprintf("%s[%d]", path, i), value)...)
		}
	}
	return faults
}
