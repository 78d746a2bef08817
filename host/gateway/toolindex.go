package gateway

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// toolIndex finds tools by words. It ranks them by BM25 over their names, titles, descriptions and
// argument names.
type toolIndex struct {
	tools   []toolWords
	holders map[string]int // by word: how many tools have it
	average float64        // average sum of weights of a tool
}

// toolWords are the words of one tool with their weights, and the sum of the weights.
type toolWords struct {
	weights map[string]float64
	length  float64
}

// The weights of a word by the place where it stands, and the usual constants of BM25.
const (
	weightName, weightTitle, weightOther = 3, 2, 1

	saturation, lengthShare = 1.2, 0.5

	maxIndexed = 4 << 10 // bytes of a description
)

func newToolIndex(tools [][]byte) *toolIndex {
	x := &toolIndex{tools: make([]toolWords, len(tools)), holders: make(map[string]int)}
	for i, tool := range tools {
		w := toolWords{weights: make(map[string]float64)}
		about := text(tool, "description")
		w.add(text(tool, "name"), weightName)
		w.add(text(tool, "title"), weightTitle)
		w.add(about[:min(len(about), maxIndexed)], weightOther)
		for name := range members(member(tool, "inputSchema", "properties")) {
			w.add(name, weightOther)
		}
		for word := range w.weights {
			x.holders[word]++
		}
		x.tools[i] = w
		x.average += w.length / float64(len(tools))
	}
	return x
}

func (w *toolWords) add(text string, weight float64) {
	for _, word := range words(text) {
		w.weights[word] += weight
		w.length += weight
	}
}

// find returns the indexes of the tools that match a query best, best first. Of two tools that
// match equally well, the first in the list comes first.
func (x *toolIndex) find(query string, limit int) (places []int) {
	scores := make([]float64, len(x.tools))
	for _, word := range words(query) {
		holders := float64(x.holders[word])
		rarity := math.Log(1 + (float64(len(x.tools))-holders+0.5)/(holders+0.5))
		for i, t := range x.tools {
			if weight := t.weights[word]; weight > 0 {
				scores[i] += rarity * weight * (saturation + 1) / (weight + saturation*(1-lengthShare+lengthShare*t.length/x.average))
			}
		}
	}
	for i, score := range scores {
		if score > 0 {
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return places[:min(len(places), limit)]
}

// words returns the words of a text, in lower case and without their endings. A capital letter within
// a word begins another word: readFile has two.
func words(text string) (all []string) {
	var word strings.Builder
	end := func() {
		if word.Len() > 0 && !emptyWords[word.String()] {
			all = append(all, stem(word.String()))
		}
		word.Reset()
	}
	small := false // the letter before was lower case
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r), unicode.IsUpper(r) && small:
			end()
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			word.WriteRune(unicode.ToLower(r))
		}
		small = unicode.IsLower(r)
	}
	end()
	return all
}

// stem removes the ending of an English word, so that most forms of a word become equal. The result
// need not be a word.
func stem(word string) string {
	for _, ending := range []string{"ies", "ing", "ed", "es", "s", "e", "y"} {
		if rest, ok := strings.CutSuffix(word, ending); ok && len(rest) > 2 && !strings.HasSuffix(word, "ss") {
			return rest
		}
	}
	return word
}

// emptyWords are left out, because they do not tell tools apart.
var emptyWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, word := range strings.Fields("a an and are as at be by can do for from has have how i if in into is it its me my of on or our so some that the their them then there these this to us was we what when where which with you your") {
		set[word] = true
	}
	return set
}()
