package main

// bashWords stands behind the script for bash, and replaces two of the script's functions.
const bashWords = `
# Bash splits words at "=", ":" and "@". The package bash-completion has a function that joins
# them; where it is not installed, this does.
__wharf_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local rest=${COMP_LINE:0:COMP_POINT} piece gap i
    words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        gap=${rest%%[![:space:]]*}
        rest=${rest#"$gap"}
        if ((i == COMP_CWORD)); then
            piece=$rest
        fi
        rest=${rest#"$piece"}
        if ((i == 0)) || [[ -n $gap ]]; then
            words+=("$piece")
        else
            words[${#words[@]}-1]+=$piece
        fi
    done
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=${words[cword-1]}
}

# The package has this function too: it completes the path of a folder, with -d, or of a file, of
# which the ends may be given.
declare -F _filedir >/dev/null 2>&1 || _filedir()
{
    local path
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do
        if [[ -d $path || -z $1 || $1 != -d && $path == *.@(${1%|}) ]]; then
            COMPREPLY+=("$path")
        fi
    done < <(compgen -f -- "$cur")
}

# A word that ends within quotes is given to the program closed.
__wharf_close_quotes()
{
    local word=${words[cword]} letter i
    __wharf_quote= __wharf_before= __wharf_within=
    for ((i = 0; i < ${#word}; i++)); do
        letter=${word:i:1}
        case $__wharf_quote$letter in
        \\ | \"\\) ((i++)) ;;
        \' | \") __wharf_quote=$letter __wharf_before=${word:0:i} __wharf_within=${word:i+1} ;;
        \'\' | \"\") __wharf_quote= ;;
        esac
    done
    words[cword]+=$__wharf_quote
}

# Within quotes, what goes into the line is what follows them. A few letters cannot stand there.
__wharf_complete_within_quotes()
{
    local line word special=$'"$\\\x60' i
    cur=
    for line in "${completions[@]}"; do
        [[ $line == "$__wharf_before"* ]] || continue
        line=${line#"$__wharf_before"}
        word=$line
        if [[ $__wharf_quote == \' ]]; then
            [[ $line == *\'* ]] && continue
        else
            [[ $line == *!* ]] && continue
            word=
            for ((i = 0; i < ${#line}; i++)); do
                [[ $special == *"${line:i:1}"* ]] && word+=\\
                word+=${line:i:1}
            done
        fi
        if [[ $word == "$__wharf_within"* ]]; then
            COMPREPLY+=("$word")
        fi
    done
}

# How much of the word stands before what Bash replaces, which begins at the last "@", or behind the
# last of the other letters at which it splits words.
__wharf_count_kept()
{
    local letter i
    __wharf_kept=0
    for ((i = 0; i < ${#cur}; i++)); do
        letter=${cur:i:1}
        case $letter in
        \\) ((i++)) ;;
        @) [[ $COMP_WORDBREAKS == *@* ]] && __wharf_kept=$i ;;
        [=:]) [[ $COMP_WORDBREAKS == *"$letter"* ]] && __wharf_kept=$((i + 1)) ;;
        esac
    done
}

# What goes into the line is escaped, also the common beginning of several words.
__wharf_handle_completion_types()
{
    local tab=$'\t' line word
    if [[ -n $__wharf_quote ]]; then
        __wharf_complete_within_quotes
        return
    fi
    if [[ ${completions[*]} == *$tab* && $COMP_TYPE != 37 && $COMP_TYPE != 42 ]]; then
        __wharf_handle_standard_completion_case # with descriptions
        return
    fi
    __wharf_count_kept
    for line in "${completions[@]}"; do
        line=${line%%$tab*}
        printf -v word %q "$line"
        if [[ $word == "$cur"* ]]; then
            COMPREPLY+=("${word:__wharf_kept}")
        elif [[ $line == "$cur"* ]]; then
            printf -v word %q "${line:__wharf_kept}"
            COMPREPLY+=("$word")
        fi
    done
    cur= # nothing more is cut off
}
`
