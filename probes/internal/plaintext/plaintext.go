// SPDX-License-Identifier: Apache-2.0

// Package plaintext makes text that devices, drivers and files hold fit to be
// shown. It does not know what the text means.
package plaintext

import (
	"reflect"
	"strings"
	"unicode"
)

// Text replaces what does not belong into a label or a terminal: control
// characters, what is no UTF-8, and what is invisible or turns text around, by
// which one name could pass for another.
func Text(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\uFFFD' || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// All makes all strings printable that what v points to holds, but for the keys
// of maps: none is forgotten when a field is added.
func All(v any) { all(reflect.ValueOf(v)) }

func all(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(Text(v.String()))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			all(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			all(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if !textless(v.Type().Elem()) {
			for i := range v.Len() {
				all(v.Index(i))
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			element := reflect.New(v.Type().Elem()).Elem()
			element.Set(v.MapIndex(key))
			all(element)
			v.SetMapIndex(key, element)
		}
	}
}

// textless says that a type is a mere number, of which there may be many.
func textless(t reflect.Type) bool {
	return t.Kind() != reflect.String && t.Kind() < reflect.Array
}
