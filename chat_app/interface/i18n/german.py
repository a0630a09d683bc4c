"""The server's phrases in German, by their English. Places in braces are filled with the same values."""

from __future__ import annotations

from typing import Final

_PANEL: Final = {
    "Clinical guidelines": "Leitlinien",
    "Search the loaded guidelines.": "In den geladenen Leitlinien suchen.",
    "Only these guidelines": "Nur diese Leitlinien",
    "None chosen: all that are loaded are searched.": "Keine gewählt: Alle geladenen werden durchsucht.",
    "Drug database": "Arzneimitteldatenbank",
    "Look drugs up in the drug database.": "Arzneimittel in der Datenbank nachschlagen.",
    "Length of answers": "Länge der Antworten",
    "Brief": "Kurz",
    "Standard": "Mittel",
    "Full": "Ausführlich",
    "Language of answers": "Sprache der Antworten",
    "As the question": "Wie die Frage",
    "Models": "Modelle",
    "Several are compared: each answers in a column of its own.":
        "Mehrere werden verglichen: Jedes antwortet in einer eigenen Spalte.",
}
_STEPS: Final = {
    "Reading the question…": "Die Frage wird gelesen…",
    "Writing the answer…": "Die Antwort wird geschrieben…",
    "Guidelines": "Leitlinien",
    "Drug label": "Fachinformation",
    "Interactions": "Wechselwirkungen",
    "Add file": "Datei hinzufügen",
    "Tool": "Werkzeug",
    "Raw result": "Ergebnis als JSON",
    "failed": "fehlgeschlagen",
    "not finished": "nicht beendet",
    "1 passage": "1 Textstelle",
    "{count} passages": "{count} Textstellen",
    "no passage": "keine Textstelle",
    "{found}, no clear answer": "{found}, keine klare Antwort",
    "1 product": "1 Präparat",
    "{count} products": "{count} Präparate",
    "{count} medicines": "{count} Arzneimittel",
    "did you mean {name}?": "meinten Sie {name}?",
    "1 label section": "1 Abschnitt der Fachinformation",
    "{count} label sections": "{count} Abschnitte der Fachinformation",
    "not mentioned in these labels": "in diesen Fachinformationen nicht erwähnt",
    "no match": "kein Treffer",
    "no label": "keine Fachinformation",
    "1 section": "1 Abschnitt",
    "{count} sections": "{count} Abschnitte",
    "{count} pages": "{count} Seiten",
    "Arguments": "Eingaben",
    "Argument": "Eingabe",
    "Value": "Wert",
    "Result": "Ergebnis",
    "Failed:": "Fehlgeschlagen:",
    "Nothing.": "Nichts.",
    "No match.": "Kein Treffer.",
    "No passage was found.": "Es wurde keine Textstelle gefunden.",
    "Did you mean": "Meinten Sie",
    "Note": "Hinweis",
    "Field": "Feld",
    "Drug": "Wirkstoff",
    "Form": "Form",
    "Route": "Anwendung",
    "Strengths": "Stärken",
    "Brands": "Handelsnamen",
    "Labelers": "Anbieter",
    "Document": "Dokument",
    "Section": "Abschnitt",
    "Page": "Seite",
    "Text": "Text",
}
_STARTERS: Final = {
    "ACE inhibitors: contraindications": "ACE-Hemmer: Kontraindikationen",
    "What are the contraindications for ACE inhibitors?": "Welche Kontraindikationen haben ACE-Hemmer?",
    "Blood pressure: when to treat": "Blutdruck: wann behandeln",
    "At what blood pressure should drug treatment be started?":
        "Ab welchem Blutdruck soll medikamentös behandelt werden?",
    "Type 2 diabetes: HbA1c goal": "Typ-2-Diabetes: HbA1c-Ziel",
    "What HbA1c goal is usual in type 2 diabetes?": "Welches HbA1c-Ziel ist bei Typ-2-Diabetes üblich?",
    "Atrial fibrillation: who needs anticoagulation": "Vorhofflimmern: wer Antikoagulation braucht",
    "At which CHA2DS2-VASc score is anticoagulation recommended in atrial fibrillation?":
        "Ab welchem CHA2DS2-VASc-Score wird bei Vorhofflimmern eine Antikoagulation empfohlen?",
    "Asthma: preferred reliever": "Asthma: bevorzugte Bedarfstherapie",
    "What is the preferred reliever for adults with asthma?":
        "Was ist bei Erwachsenen mit Asthma die bevorzugte Bedarfstherapie?",
    "Pneumonia: antibiotics for outpatients": "Pneumonie: Antibiotika ambulant",
    "Which antibiotic is first-line for community-acquired pneumonia in outpatients?":
        "Welches Antibiotikum ist bei ambulant erworbener Pneumonie ambulant erste Wahl?",
    "Kidney disease: stages": "Nierenkrankheit: Stadien",
    "How is chronic kidney disease staged?": "Wie wird die chronische Nierenkrankheit eingeteilt?",
    "Metformin: formulations": "Metformin: Darreichungsformen",
    "What formulations of metformin are available in our database?":
        "Welche Darreichungsformen von Metformin gibt es in unserer Datenbank?",
    "What are the main recommendations of “{title}”?": "Was sind die wichtigsten Empfehlungen von „{title}“?",
}
_UPLOADS: Final = {
    "reading": "wird gelesen",
    "indexing": "wird in den Index geschrieben",
    "unchanged": "unverändert",
    "done": "fertig",
    "{stage}, page {done} of {total}": "{stage}, Seite {done} von {total}",
    "“{title}” is searchable in this conversation. Pages: {pages}; passages: {passages}.":
        "„{title}“ ist in dieser Unterhaltung durchsuchbar. Seiten: {pages}; Textstellen: {passages}.",
    "Pages without text, which are not searchable: {gaps}.": "Seiten ohne Text, die nicht durchsuchbar sind: {gaps}.",
    "It is for this conversation alone: nobody else finds it, and it is deleted with the conversation.":
        "Die Datei gehört allein zu dieser Unterhaltung: Niemand sonst findet sie, und sie wird mit ihr gelöscht.",
    "For now it is for this conversation alone.": "Vorerst gehört die Datei allein zu dieser Unterhaltung.",
    "“{title}” is in the library already: everybody finds it, in every conversation.":
        "„{title}“ ist schon in der Bibliothek: Alle finden das Dokument, in jeder Unterhaltung.",
    "{title} (this conversation only)": "{title} (nur diese Unterhaltung)",
    "This conversation cannot keep files at the moment. Try again, or begin another conversation.":
        "Diese Unterhaltung kann gerade keine Dateien aufnehmen. Versuchen Sie es erneut, oder beginnen Sie eine neue.",
    "The files of this conversation cannot be searched at the moment. Ask again in a moment.":
        "Die Dateien dieser Unterhaltung können gerade nicht durchsucht werden. Fragen Sie gleich noch einmal.",
    "A conversation can have {most} files of its own. Begin another one.":
        "Eine Unterhaltung kann {most} eigene Dateien haben. Beginnen Sie eine neue.",
    "You may not add to the library. Ask those who run this server; ASCLEPIUS_UPLOADERS says who may.":
        "Sie dürfen der Bibliothek nichts hinzufügen. Fragen Sie die Betreiber dieses Servers; ASCLEPIUS_UPLOADERS "
        "sagt, wer es darf.",
    "The file was not taken in.": "Die Datei wurde nicht aufgenommen.",
    "The file is empty.": "Die Datei ist leer.",
    "The file has {size} MB; at most {most} MB can be taken.":
        "Die Datei hat {size} MB; höchstens {most} MB sind möglich.",
    "The file is not a PDF, whatever its name says.": "Die Datei ist kein PDF, auch wenn sie so heißt.",
    "{file}: the file is encrypted; remove its password and add it again.":
        "{file}: Die Datei ist verschlüsselt; entfernen Sie das Passwort und fügen Sie sie erneut hinzu.",
}
_REFERENCES: Final = {
    "References": "Quellen",
    "page {label}": "Seite {label}",
    "PDF page {page}": "PDF-Seite {page}",
    "Search the guidelines, too": "Auch in den Leitlinien suchen",
    "Search all guidelines": "In allen Leitlinien suchen",
    "Look in the drug database, too": "Auch in der Arzneimitteldatenbank nachschlagen",
    "Did you mean {name}?": "Meinten Sie {name}?",
    "Put the question in other words": "Die Frage anders stellen",
    "What does “{title}” say about “{section}”?": "Was sagt „{title}“ zu „{section}“?",
}
_OUTCOMES: Final = {
    "You stopped this answer.": "Sie haben diese Antwort angehalten.",
    "Stopped. The answer is not complete.": "Angehalten. Die Antwort ist nicht vollständig.",
    "This answer ended early because nobody was reading it any more.":
        "Diese Antwort endete vorzeitig, weil niemand sie mehr las.",
    "This answer ended early because the server was stopped. Ask again.":
        "Diese Antwort endete vorzeitig, weil der Server angehalten wurde. Fragen Sie noch einmal.",
    "This answer ended early because the server stopped. Ask again.":
        "Diese Antwort endete vorzeitig, weil der Server ausfiel. Fragen Sie noch einmal.",
    "Something unexpected went wrong, and the answer ended early. Ask again; if it happens again, tell whoever runs "
    "this server.":
        "Etwas Unerwartetes ist schiefgegangen, und die Antwort endete vorzeitig. Fragen Sie noch einmal; geschieht es "
        "wieder, sagen Sie es denen, die diesen Server betreiben.",
    "Something went wrong inside the assistant. Ask again; if it happens again, the log says more.":
        "Im Assistenten ging etwas schief. Fragen Sie noch einmal; geschieht es wieder, sagt das Protokoll mehr.",
    "The answer broke off before its end. What stands here may be missing something important.":
        "Die Antwort brach vor ihrem Ende ab. Was hier steht, lässt vielleicht Wichtiges aus.",
    "The assistant reached its limit of look-ups; it answered with what it had found by then.":
        "Der Assistent durfte nicht weiter nachschlagen; er antwortete mit dem, was er bis dahin gefunden hatte.",
    "The model ended without an answer. Ask again.": "Das Modell endete ohne Antwort. Fragen Sie noch einmal.",
    "The answer reached its length limit and is not complete.":
        "Die Antwort erreichte ihre Höchstlänge und ist nicht vollständig.",
    "The model server's content filter cut the answer short.":
        "Der Inhaltsfilter des Modellservers hat die Antwort abgeschnitten.",
    "The model server ended the answer early.": "Der Modellserver hat die Antwort vorzeitig beendet.",
    "The model declined to answer this.": "Das Modell hat es abgelehnt, darauf zu antworten.",
    "The model server reported an error. Ask again, or try later.":
        "Der Modellserver meldete einen Fehler. Fragen Sie noch einmal oder später.",
    "The model server reported an error ({code}). Ask again, or try later.":
        "Der Modellserver meldete einen Fehler ({code}). Fragen Sie noch einmal oder später.",
    "{problem} What stands here may be wrong or missing something: do not rely on it.":
        "{problem} Was hier steht, kann falsch oder lückenhaft sein: Verlassen Sie sich nicht darauf.",
    "{problem} Ask again in {time}.": "{problem} Fragen Sie wieder in {time}.",
    "{count} minutes": "{count} Minuten",
    "{problem} Trying again in {wait} s ({attempt} of {most}).":
        "{problem} Neuer Versuch in {wait} s ({attempt} von {most}).",
    "The connection to the model server broke. The answer is picked up where it stopped.":
        "Die Verbindung zum Modellserver brach ab. Die Antwort wird dort aufgenommen, wo sie stehen blieb.",
    "The model server stopped sending. The answer is picked up where it stopped.":
        "Der Modellserver sendete nichts mehr. Die Antwort wird dort aufgenommen, wo sie stehen blieb.",
    "Another question of this conversation is still being answered. Wait for it, or stop it, and ask again.":
        "Eine andere Frage dieser Unterhaltung wird noch beantwortet. Warten Sie darauf oder halten Sie sie an, und "
        "fragen Sie dann noch einmal.",
    "{count} of your questions are being answered; at most {most} can be at once. Wait for one to end, or stop one.":
        "{count} Ihrer Fragen werden gerade beantwortet; zugleich sind höchstens {most} möglich. Warten Sie, bis eine "
        "zu Ende ist, oder halten Sie eine an.",
    "At most {most} questions can be asked in a minute. Ask again in {wait} seconds.":
        "In einer Minute sind höchstens {most} Fragen möglich. Fragen Sie wieder in {wait} Sekunden.",
    "At most {most} models can be asked at once. Ask fewer.":
        "Zugleich lassen sich höchstens {most} Modelle fragen. Wählen Sie weniger.",
    "The message holds half a character (a lone surrogate). Type that character again.":
        "Die Nachricht enthält ein halbes Zeichen. Geben Sie dieses Zeichen noch einmal ein.",
    "The message is empty. Type a question.": "Die Nachricht ist leer. Geben Sie eine Frage ein.",
    "The message has {length} characters; at most {most} can be taken. Shorten it.":
        "Die Nachricht hat {length} Zeichen; höchstens {most} sind möglich. Kürzen Sie sie.",
    "The guidelines that you chose cannot be searched alone at the moment. Ask again, or choose none.":
        "Die gewählten Leitlinien lassen sich gerade nicht allein durchsuchen. Fragen Sie noch einmal oder wählen Sie "
        "keine.",
    "The app is not running.": "Die Anwendung läuft nicht.",
    "The app's services could not be opened. The server's log says why.":
        "Die Dienste der Anwendung ließen sich nicht öffnen. Das Protokoll des Servers sagt, warum.",
}
_MODEL_SERVER: Final = {
    "The model server did not answer in time. Try again later.":
        "Der Modellserver hat nicht rechtzeitig geantwortet. Versuchen Sie es später noch einmal.",
    "The model server stopped sending. The answer may be incomplete.":
        "Der Modellserver sendet nichts mehr. Die Antwort ist vielleicht unvollständig.",
    "The connection to the model server broke off.": "Die Verbindung zum Modellserver brach ab.",
    "The model server cannot be reached. Check OPENAI_BASE_URL and the network.":
        "Der Modellserver ist nicht erreichbar. Prüfen Sie OPENAI_BASE_URL und das Netz.",
    "The model server gave an answer that cannot be read. Check OPENAI_BASE_URL.":
        "Der Modellserver gab eine Antwort, die sich nicht lesen lässt. Prüfen Sie OPENAI_BASE_URL.",
    "What answers at OPENAI_BASE_URL is not a Responses server (it sent {kind}). Check the address.":
        "Was unter OPENAI_BASE_URL antwortet, ist kein Responses-Server (es sandte {kind}). Prüfen Sie die Adresse.",
    "The model server is busy and asks to wait.": "Der Modellserver ist ausgelastet und bittet zu warten.",
    "The model server fails at the moment (HTTP {status}).": "Der Modellserver ist gestört (HTTP {status}).",
    "The model server refused the key. Set OPENAI_API_KEY to a valid one.":
        "Der Modellserver hat den Schlüssel abgelehnt. Setzen Sie OPENAI_API_KEY auf einen gültigen.",
    "The key may not use this model or server. Check OPENAI_API_KEY and ASCLEPIUS_MODEL.":
        "Der Schlüssel darf dieses Modell oder diesen Server nicht nutzen. Prüfen Sie OPENAI_API_KEY und "
        "ASCLEPIUS_MODEL.",
    "The model server knows no such model or address. Check ASCLEPIUS_MODEL and OPENAI_BASE_URL.":
        "Der Modellserver kennt dieses Modell oder die Adresse nicht. Prüfen Sie ASCLEPIUS_MODEL und OPENAI_BASE_URL.",
    "The quota of this key is used up. Check the account that OPENAI_API_KEY belongs to.":
        "Das Kontingent dieses Schlüssels ist aufgebraucht. Prüfen Sie das Konto, zu dem OPENAI_API_KEY gehört.",
    "The model server refused the request (HTTP {status}). Check ASCLEPIUS_MODEL.":
        "Der Modellserver hat die Anfrage abgelehnt (HTTP {status}). Prüfen Sie ASCLEPIUS_MODEL.",
    "The model server sent an event that is not valid JSON.": "Der Modellserver sendete ein ungültiges Ereignis.",
    "The model server's finished text is not the text it streamed.":
        "Der fertige Text des Modellservers ist nicht der, den er gesendet hatte.",
    "Part of the answer was lost on the way from the model server.":
        "Ein Teil der Antwort ging auf dem Weg vom Modellserver verloren.",
}
_NOTICES: Final = {
    "The guidelines were switched off for this question.": "Die Leitlinien waren für diese Frage ausgeschaltet.",
    "Only the one guideline that was chosen was searched.": "Nur die eine gewählte Leitlinie wurde durchsucht.",
    "Only the {count} guidelines that were chosen were searched.":
        "Nur die {count} gewählten Leitlinien wurden durchsucht.",
    "The drug database was switched off for this question.":
        "Die Arzneimitteldatenbank war für diese Frage ausgeschaltet.",
    "The model server no longer had the earlier part of this conversation; it was sent again.":
        "Der Modellserver hatte den früheren Teil dieser Unterhaltung nicht mehr; er wurde noch einmal gesendet.",
    "The model server keeps no conversations; the earlier part is sent again with every question.":
        "Der Modellserver behält keine Unterhaltungen; der frühere Teil wird mit jeder Frage noch einmal gesendet.",
    "This conversation cannot be saved at the moment: the session store (Redis) does not answer. Answers still come, "
    "but follow-up questions may lack their context.":
        "Diese Unterhaltung lässt sich gerade nicht speichern: Der Sitzungsspeicher (Redis) antwortet nicht. Antworten "
        "kommen weiterhin, aber Folgefragen kann der Zusammenhang fehlen.",
    "The earlier conversation has expired or is not known here; this question starts a new one.":
        "Die frühere Unterhaltung ist abgelaufen oder hier nicht bekannt; mit dieser Frage beginnt eine neue.",
    "A citation in this answer pointed to nothing that was looked up, and was removed. Check that statement.":
        "Ein Verweis in dieser Antwort zeigte auf nichts Nachgeschlagenes und wurde entfernt. Prüfen Sie die Aussage.",
    "Answers are extracts and stand in the language of their sources: nothing is translated.":
        "Antworten sind Auszüge in der Sprache ihrer Quellen: Es wird nichts übersetzt.",
    "This answer could not be saved to the history: it will be gone after a reload.":
        "Diese Antwort ließ sich nicht im Verlauf speichern: Nach dem Neuladen ist sie weg.",
    "Your login has ended. Reload the page to sign in again; your text is still in the box.":
        "Ihre Anmeldung ist abgelaufen. Laden Sie die Seite neu und melden Sie sich wieder an; Ihr Text steht noch im "
        "Feld.",
    "This question is still being answered. Stop it first, then edit.":
        "Diese Frage wird noch beantwortet. Halten Sie sie erst an, dann bearbeiten Sie sie.",
    "The edited question could not be asked. Reload the page and try again.":
        "Die bearbeitete Frage ließ sich nicht stellen. Laden Sie die Seite neu und versuchen Sie es noch einmal.",
    "{what}…": "{what}…",
    "Starting the app's services": "Die Dienste der Anwendung starten",
    "Starting": "Start",
    "Guidelines: loading the index": "Leitlinien: Der Index wird geladen",
    "Drugs: loading the index": "Arzneimittel: Der Index wird geladen",
    "Guidelines: {stage} {file}": "Leitlinien: {stage}, {file}",
}

GERMAN: Final[dict[str, str]] = {
    **_PANEL, **_STEPS, **_STARTERS, **_UPLOADS, **_REFERENCES, **_OUTCOMES, **_MODEL_SERVER, **_NOTICES,
}  # fmt: skip
