"""Lay out tables of any format on a grid, so that every value stays in its column, and turn them into sections."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from services.knowledge.models import Section

# A value that spans rows, such as a two-hour lesson, applies to each of them. Longer texts are passages.
_REPEATED_CHARS = 40
# Word allows 63 columns and HTML 1,000. These limits are enough for real tables; a bomb would use more in every cell.
_MOST_COLUMNS_SPANNED = 100
_MOST_ROWS_SPANNED = 1000
# If fewer cells than this are filled, rows name the column of each value, because most of the text would be bars.
_SPARSE_SHARE = 0.1
_SPARSE_WIDTH = 20
_MOST_HEADER_ROWS = 4
_MOST_SIDE_BY_SIDE = 4
_LEAST_NAMED_ROWS = 2
NAME_SEPARATOR = " / "
_FIGURE_CHARS = 24
_TITLE_CHARS = 80
_NOTE = re.compile(r"[（(【*＊]*\s*(?:注|备\s*注|说明|附注|Notes?)\s*[\d一二三]?\s*[:：】)）.]", re.IGNORECASE)
_NOTE_CHARS = 20
_CLAUSE = re.compile(r"[，。；：]")
_FEWEST_FORM_COLUMNS, _MOST_FORM_COLUMNS = 4, 8
_LABEL_CHARS = 12
_BESIDE_TITLE = re.compile(
    r"[(（]?(?:货币|金额|计量)?(?:单位|编制|制表|填表|统计|更新|日期|时间|年月|版本)[^：:]{0,4}[：:]"
)
_LABEL = re.compile(
    r"[：:]\s*$|(?:姓名|名称|性别|民族|籍贯|年龄|[学工编证账帐卡税型文单]号|号码|班级|专业|学院|学校|院校|系别|年级|部门|单位|公司|职务|职称"
    r"|岗位|职位|电话|手机|邮箱|微信|qq|传真|邮编|地址|住址|日期|时间|年月|地点|场地|金额|费用|预算|经费|价格|总价|负责人|联系人|经办人|申请人"
    r"|审核人|审批人|法人|代表|导师|老师|教师|学历|学位|面貌|身份证|开户行|户名|规格|数量|人数|类型|类别|性质|等级|级别|状态|备注|主题|题目"
    r"|版本|期限|周期|来源|方式|情况|意见|签字|签名|盖章|面积|户型|楼栋|房号|车牌号?|name|date|phone|e-?mail|address|title)\s*$",
    re.IGNORECASE,
)
_LONE_BAR = re.compile(r"(?<!\S)\|(?!\S)")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a file, with the number of columns and rows that it spans."""

    text: str
    columns: int = 1
    rows: int = 1


def repeated(text: str) -> str:
    """Return the text of a cell that spans rows, for the rows below its first; "" if it is long."""
    return text if len(text) <= _REPEATED_CHARS else ""


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of texts with every cell in its column.

    `spans` maps the first row and column of each cell that spans several to its number of columns and rows.
    """

    rows: list[list[str]] = field(default_factory=list[list[str]])
    spans: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict[tuple[int, int], tuple[int, int]])


def laid_out(rows: Iterable[Iterable[Cell]]) -> Grid:
    """Return rows of texts with every cell in its column, as in the HTML table model.

    Spanned columns are empty. In spanned rows a short text is repeated.

    >>> laid_out([[Cell("体育", rows=2), Cell("语文")], [Cell("数学")]]).rows
    [['体育', '语文'], ['体育', '数学']]
    """
    grid = Grid()
    # Maps a column to the text that continues from above, and the number of rows that it still covers.
    above: dict[int, tuple[str, int]] = {}
    for row in rows:
        texts: dict[int, str] = {}
        coming: dict[int, tuple[str, int]] = {}
        for column, (text, left) in above.items():
            texts[column] = text
            if left > 1:
                coming[column] = (text, left - 1)
        place = 0
        for cell in row:
            while place in above:
                place += 1
            height = max(1, min(cell.rows, _MOST_ROWS_SPANNED))
            width = max(1, min(cell.columns, _MOST_COLUMNS_SPANNED))
            if width > 1 or height > 1:
                grid.spans[len(grid.rows), place] = width, height
            for offset in range(width):
                text = "" if offset else cell.text
                texts[place + offset] = text
                if height > 1:
                    coming[place + offset] = (repeated(text), height - 1)
            place += width
        grid.rows.append([texts.get(column, "") for column in range(max(texts, default=-1) + 1)])
        above = coming
    return grid


def with_single_headers(grid: Grid, *, fills_columns: bool = True) -> list[list[str]]:
    """Return the rows of a table in which a header of several rows is one row, with one name for each column.

    A header has several rows if one of its cells spans columns: as many as its other cells span, or two if the row
    below names each of the spanned columns. With `fills_columns`, a short text that spans columns with names of their
    own stands in each of them; a label of the row, such as 合计, does not.

    >>> head = [Cell("地区", rows=2), Cell("住宿", columns=2)], [Cell("旺季"), Cell("淡季")]
    >>> with_single_headers(laid_out([*head, [Cell("省会"), Cell("450"), Cell("400")]]))
    [['地区', '住宿 / 旺季', '住宿 / 淡季'], ['省会', '450', '400']]
    """
    rows: list[list[str]] = []
    names: list[str] = []
    wide = _wide_cells(grid) if fills_columns else {}
    place, is_header_due = 0, True
    while place < len(grid.rows):
        filled = sum(1 for text in grid.rows[place] if text.strip())
        is_header = is_header_due and (filled > 1 or (filled == 1 and _is_over_names(grid, place)))
        height = _header_height(grid, place) if is_header else 1
        if is_header:
            is_named = height > 1 or (fills_columns and _names_several(grid, place))
            names = _names(grid, place, height) if is_named else grid.rows[place]
        rows.append(names if is_header else _filled(grid.rows[place], wide.get(place, ()), names))
        place += height
        # Another header may stand under a title over the whole width.
        is_header_due = filled == 0 or (filled == 1 and (is_header_due or _is_whole_row(grid, place - 1)))
    return rows


def _wide_cells(grid: Grid) -> dict[int, list[tuple[int, int]]]:
    """Return for each row the first column and the number of columns of its cells that span several."""
    wide: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (first, column), (columns, rows) in grid.spans.items():
        if columns > 1:
            for row in range(first, min(first + rows, len(grid.rows))):
                wide[row].append((column, columns))
    return wide


def _filled(row: list[str], wide: Sequence[tuple[int, int]], names: Sequence[str]) -> list[str]:
    """Return a row with each wide text in all the columns that it spans, if it is short and they have other names.

    A row whose first cell is wide is a total or a title, and a header with figures is none.
    """
    if not wide or min(wide)[0] == 0 or any(map(is_figure, names)):
        return row
    texts = [*row, *[""] * (len(names) - len(row))]
    for column, columns in wide:
        covered = range(column + 1, column + columns)
        text = repeated(texts[column]) if column + columns <= len(names) else ""
        if (
            text
            and len({names[n] for n in (column, *covered)} - {""}) == columns
            and not any(texts[n] for n in covered)
        ):
            texts[column + 1 : column + columns] = [text] * len(covered)
    return texts


def _is_over_names(grid: Grid, row: int) -> bool:
    """Return whether the only name of a row stands over names, beside the empty place above the label."""
    below = grid.rows[row + 1] if row + 1 < len(grid.rows) else [""]
    return not grid.rows[row][0] and bool(below[:1] and below[0])


def _is_whole_row(grid: Grid, row: int) -> bool:
    width = max(map(len, grid.rows))
    return any(first == row and columns >= width for (first, _), (columns, _) in grid.spans.items())


def _header_height(grid: Grid, row: int) -> int:
    spans = {column: size for (first, column), size in grid.spans.items() if first == row}
    wide = {column: columns for column, (columns, height) in spans.items() if columns > 1 and height == 1}
    if row + 1 >= len(grid.rows):
        return 1
    heights = [height for _, height in spans.values() if height > 1]
    if heights and (wide or _has_overflow(grid, row)):
        height = min(heights)
        return height if height <= _MOST_HEADER_ROWS and row + height < len(grid.rows) else 1
    below = grid.rows[row + 1]
    for column, columns in wide.items():
        names = [text for text in below[column : column + columns] if text.strip()]
        if len(names) < 2 or any(map(is_figure, names)):
            return 1
    return 2 if wide and not _is_labelled(grid, row + 1, wide) else 1


def _is_labelled(grid: Grid, row: int, wide: Mapping[int, int]) -> bool:
    """Return whether a row has a figure, or a cell that spans rows, outside the columns under wide names."""
    under = {covered for column, columns in wide.items() for covered in range(column, column + columns)}
    return any(
        is_figure(text) or grid.spans.get((row, column), (1, 1))[1] > 1
        for column, text in enumerate(grid.rows[row])
        if column not in under
    )


def _names_several(grid: Grid, row: int) -> bool:
    """Return whether the wide cells of a row name columns that are filled below; in a form, other rows span others."""
    spans = {column: size for (first, column), size in grid.spans.items() if first == row and size[0] > 1}
    below = grid.rows[row + 1 :]
    if len(below) < _LEAST_NAMED_ROWS or any(is_figure(grid.rows[row][column]) for column in spans):
        return False
    if any(columns > 1 and spans.get(column, (0, 0))[0] != columns for (_, column), (columns, _) in grid.spans.items()):
        return False
    return all(
        all(below[0][covered : covered + 1] not in ([], [""]) for covered in range(column, column + columns))
        for column, (columns, _) in spans.items()
    )


def _has_overflow(grid: Grid, row: int) -> bool:
    """Return whether the name over several columns is not merged with the empty cells beside it."""
    return any(not name and text for name, text in zip(grid.rows[row], grid.rows[row + 1], strict=False))


def _names(grid: Grid, row: int, height: int) -> list[str]:
    """Return the names of the columns from the header that begins at a row."""
    width = max(len(texts) for texts in grid.rows[row : row + height])
    parts: list[list[str]] = [[] for _ in range(width)]
    for number in range(row, row + height):
        texts = [*grid.rows[number], *[""] * (width - len(grid.rows[number]))]
        for column in range(width):
            columns, rows = grid.spans.get((number, column), (1, 1))
            # Without names of their own, the other columns below a cell are empty.
            is_above_names = number + rows < row + height
            if is_above_names and columns == 1 and texts[column]:
                columns = next((n for n in range(column + 1, width) if texts[n]), width) - column
            if not is_above_names and grid.spans.get((row + height, column), (1, 1))[0] >= columns:
                # The cells below span the same columns, which are one.
                continue
            for covered in range(column + 1, min(column + columns, width)):
                texts[covered] = texts[column]
        for column, text in enumerate(texts):
            name = " ".join(text.split())
            if name and name not in parts[column]:
                parts[column].append(name)
    return [NAME_SEPARATOR.join(names) for names in parts]


def is_figure(text: str) -> bool:
    """Return whether a cell holds a value rather than a name: a short text with a digit."""
    return len(text) <= _FIGURE_CHARS and any(character.isdigit() for character in text)


def last_header(rows: Iterable[Sequence[str]]) -> dict[int, str]:
    """Return the header of the last part of a table by column, {} if it has none."""
    filled = [cells for row in rows if (cells := _on_one_line(dict(enumerate(row))))]
    *_, last = [], *_parts(filled)
    _, body = _without_captions(last, max(map(len, filled), default=0))
    return body[0] if body else {}


def table_sections(
    rows: Iterable[Sequence[str]], page: int | None = None, heading: tuple[str, ...] = (), title: str = ""
) -> Iterator[Section]:
    """Yield the sections of a table; see `sparse_table_sections`."""
    filled = ({column: cell for column, cell in enumerate(row) if cell.strip()} for row in rows)
    return sparse_table_sections(filled, page, heading, title)


def sparse_table_sections(
    rows: Iterable[dict[int, str]], page: int | None = None, heading: tuple[str, ...] = (), title: str = ""
) -> Iterator[Section]:
    """Yield the sections of a table: each of its parts with a header of its own, and notes below it as text.

    A row maps columns, counted from 0, to texts. Rows with a single cell above a wider header are captions (a merged
    title row); they stand above the header like `title`. A form with several labels in a row becomes lines such as
    `姓名：张三`. Empty rows and columns are dropped; line breaks inside a cell
    become spaces. A row is written as `数学 | 语文 |  | 体育`, with a bar before an empty first cell and without the
    empty cells at its end; a row that has only its first cell is `数学 | |`, because without a bar it would be prose.
    """
    for block in _side_by_side([_on_one_line(row) for row in rows]):
        yield from _block_sections(block, page, heading, title)
        title = ""


def _block_sections(
    rows: list[dict[int, str]], page: int | None, heading: tuple[str, ...], title: str
) -> Iterator[Section]:
    """Yield the sections of rows of which no two tables stand beside each other; an empty row is a gap."""
    filled: list[dict[int, str]] = []
    gaps: set[int] = set()
    for row in rows:
        if row:
            filled.append(row)
        else:
            gaps.add(len(filled))
    width = max(map(len, filled), default=0)
    for rows_of_part in _parts(filled, gaps):
        part, above, below = _without_notes(rows_of_part, width)
        if above:
            yield Section("\n".join(_written(above)), page, heading)
        captions, body = _without_captions(part, width)
        # With bars, a title and what stands beside it would read like a header.
        above_header = [" ".join(row[column] for column in sorted(row)) for row in captions]
        lines = [*filter(None, (title,)), *(above_header if body else _written(captions))]
        title = ""
        if pairs := form_pairs(body):
            yield Section("\n".join([*lines, *pairs]), page, heading)
            body, lines = [], []
        elif len(body) < 2:
            lines += _written(body)
        if lines and (len(body) < 2 or sum(map(len, lines)) > _TITLE_CHARS):
            yield Section("\n".join(lines), page, heading)
            lines = []
        if len(body) > 1:
            header, *texts = _written(_unfolded(body))
            yield Section("\n".join(texts), page, heading, table=True, header="\n".join((*lines, header)))
        if below:
            yield Section("\n".join(_written(below)), page, heading)


def form_pairs(rows: Sequence[Mapping[int, str]]) -> list[str]:
    """Return the labels of a form with their values (姓名：张三), [] if the rows are no form with several in a row.

    In a form every second column has labels, also below the first row; in a table these would be values.
    """
    columns = sorted({column for row in rows for column in row})
    if len(rows) < 2 or len(columns) % 2 or not _FEWEST_FORM_COLUMNS <= len(columns) <= _MOST_FORM_COLUMNS:
        return []
    labels = columns[::2]
    below = rows[1:]
    named = [
        [row[column] for row in below if column in row and not _repeats(row, column, columns)] for column in labels
    ]
    if not all(texts and 2 * sum(map(_is_label, texts)) >= len(texts) for texts in named):
        return []
    if not all(_is_label(rows[0].get(column, "")) for column in labels) and len(below) < _LEAST_NAMED_ROWS:
        return []
    pairs: list[tuple[str, str]] = []
    for row in rows:
        for label, value in zip(labels, columns[1::2], strict=True):
            name = row.get(label, "").rstrip("：: ") if not _repeats(row, label, columns) else ""
            text = row.get(value, "") if not _repeats(row, value, columns) else ""
            if name or text:
                pairs.append((name, text))
    filled = [(name, text) for name, text in pairs if text]
    # What nobody filled in says nothing, but the labels of an empty form say what it asks for.
    kept = filled if 2 * len(filled) >= len(pairs) else pairs
    return [f"{name}：{text}" if name and text else name or text for name, text in kept]


def _is_label(text: str) -> bool:
    return len(text) <= _LABEL_CHARS and _LABEL.search(text) is not None and not is_figure(text)


def _repeats(row: Mapping[int, str], column: int, columns: Sequence[int]) -> bool:
    """Return whether a cell only repeats the wide one on its left."""
    place = columns.index(column)
    return place > 0 and row.get(columns[place - 1]) == row.get(column)


def _side_by_side(rows: list[dict[int, str]]) -> Iterator[list[dict[int, str]]]:
    """Yield tables that stand beside each other with an empty column between them, and have the same columns."""
    columns = sorted({column for row in rows for column in row})
    blocks: list[list[int]] = []
    for column in columns:
        if blocks and column == blocks[-1][-1] + 1:
            blocks[-1].append(column)
        else:
            blocks.append([column])
    names = [
        [tuple(row.get(column, "") for column in block) for block in blocks] for row in rows[:_MOST_HEADER_ROWS] if row
    ]
    is_same = any(len(set(texts)) == 1 and len(texts[0]) > 1 and all(texts[0]) for texts in names)
    if not 1 < len(blocks) <= _MOST_SIDE_BY_SIDE or not is_same:
        yield rows
        return
    for block in blocks:
        yield [{column: row[column] for column in block if column in row} for row in rows]


def _without_notes(
    part: list[dict[int, str]], whole_width: int
) -> tuple[list[dict[int, str]], list[dict[int, str]], list[dict[int, str]]]:
    """Return the rows of a part without the notes, and the notes above and below them, which tell about a table."""
    above: list[dict[int, str]] = []
    below: list[dict[int, str]] = []
    while len(part) > 2 and len(part[-1]) == 1 < whole_width and _is_note(*part[-1].values()):
        below.insert(0, part[-1])
        part = part[:-1]
    while len(part) > 2 and len(part[0]) == 1 < whole_width and any(map(_NOTE.match, part[0].values())):
        above.append(part[0])
        part = part[1:]
    return part, above, below


def _is_note(text: str) -> bool:
    return _NOTE.match(text) is not None or (len(text) > _NOTE_CHARS and _CLAUSE.search(text) is not None)


def _without_captions(
    part: list[dict[int, str]], whole_width: int
) -> tuple[list[dict[int, str]], list[dict[int, str]]]:
    """Return the captions of a part and the rows below them; `whole_width` is the most cells in a row of the table."""
    start, label = 0, min((column for row in part for column in row), default=0)
    while start < len(part) and _is_caption(part[start], whole_width):
        if (
            len(part[start]) == 1
            and whole_width == 2
            and label not in part[start]
            and all(map(repeated, part[start].values()))
        ):
            # The name of the second of two columns, beside the empty place above the label.
            break
        start += 1
    return (part[:start], part[start:]) if len(part) - start > 1 else (part, [])


def _is_caption(row: Mapping[int, str], whole_width: int) -> bool:
    """Return whether a row above a header is a title, with nothing beside it but such things as 单位：元."""
    if len(row) == 1:
        return whole_width > 1
    return len(row) <= max(2, whole_width // 2) < whole_width and any(map(_BESIDE_TITLE.match, row.values()))


def _parts(rows: list[dict[int, str]], gaps: Container[int] = ()) -> Iterator[list[dict[int, str]]]:
    """Yield the parts of a table that have a header of their own.

    Such a header names the columns of the figures that follow. It stands under a title, or its first cell is empty.
    Below a gap, a row of names is a header too if it stands under a title or has another number of cells.
    """
    start, label = 0, min((column for row in rows for column in row), default=0)
    for place in range(2, len(rows) - 1):
        row, before = rows[place], rows[place - 1]
        if place - start < 2:
            continue
        is_titled = len(before) == 1 and place - 1 > start
        is_header_row = is_header(row, rows[place + 1 : place + 4])
        is_below_gap = place in gaps and (is_header_row or (_is_names(row) and len(row) != len(rows[start])))
        if is_titled and (is_header_row or (place - 1 in gaps and _is_names(row))):
            first = place - 1
        elif is_below_gap or (is_header_row and label not in row and label in before and len(before) > 1):
            first = place
        else:
            continue
        yield rows[start:first]
        start = first
    if start < len(rows):
        yield rows[start:]


def _is_names(row: Mapping[int, str]) -> bool:
    texts = list(row.values())
    is_short = all(len(text) <= _LABEL_CHARS and not is_figure(text) for text in texts)
    return len(row) > 1 and is_short and len(set(texts)) == len(texts)


def is_header(row: dict[int, str], below: list[dict[int, str]]) -> bool:
    """Return whether a row names the columns of the rows below, which have figures in them."""
    if len(row) < 2 or not all(any(map(str.isalpha, text)) and not is_figure(text) for text in row.values()):
        return False
    if len(set(row.values())) < len(row):
        return False
    label = min((column for values in (row, *below) for column in values), default=0)
    figures = {
        column
        for values in below
        for column, text in values.items()
        # The labels of rows may have digits in them: MP4, A座.
        if is_figure(text) and (column != label or text[0].isdigit())
    }
    others = {column for values in below for column in values}
    return bool(figures & row.keys()) and len(row.keys() & others) * 3 >= 2 * len(others)


def _unfolded(rows: list[dict[int, str]]) -> list[dict[int, str]]:
    """Return a table whose columns are there twice or more, side by side, with them below each other."""
    columns = sorted({column for row in rows for column in row})
    names = [rows[0].get(column, "") for column in columns]
    for count in range(_MOST_SIDE_BY_SIDE, 1, -1):
        width = len(columns) // count
        blocks = [columns[start : start + width] for start in range(0, len(columns), width)] if width > 1 else []
        if len(blocks) == count and all(names) and names == names[:width] * count:
            parts = (
                {columns[n]: row[c] for n, c in enumerate(block) if c in row} for block in blocks for row in rows[1:]
            )
            return [{column: rows[0][column] for column in columns[:width]}, *(part for part in parts if part)]
    return rows


def _on_one_line(row: dict[int, str]) -> dict[int, str]:
    # A bar between spaces would read as the end of the cell.
    return {column: _LONE_BAR.sub("｜", text) for column, cell in row.items() if (text := " ".join(cell.split()))}


def _written(rows: list[dict[int, str]]) -> list[str]:
    places = {column: place for place, column in enumerate(sorted({column for row in rows for column in row}))}
    cells = sum(map(len, rows))
    if len(places) > _SPARSE_WIDTH and cells < _SPARSE_SHARE * len(places) * len(rows):
        return [_named(row, rows[0]) for row in rows]
    return [_barred({places[column]: text for column, text in row.items()}, len(places)) for row in rows]


def _barred(row: dict[int, str], width: int) -> str:
    if row.keys() == {0} and width > 1:
        return f"{row[0]} | |"
    # Without the bar in front, a row with an empty first cell would read like a row of Markdown that begins with a bar.
    return ("" if 0 in row else "| ") + " | ".join(row.get(place, "") for place in range(max(row) + 1))


def _named(row: dict[int, str], header: dict[int, str]) -> str:
    return " | ".join(
        text if row is header else f"{header.get(column) or f'第 {column + 1} 列'}：{text}"
        for column, text in sorted(row.items())
    )
