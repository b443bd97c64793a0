/* The page's own words, in the languages that most readers have. "%" stands for a name, a number or a length. */

const NAMES = (
  "captions|language|aloud|look|size|smaller|larger|colours|auto|light|dark|source|whole|view|reader|stage|overlay|ontop|" +
  "asleep|connecting|loading|listening|paused|gap|lost|back|scan|ended|empty|newest|unread|cannot|tap|online|voiceless"
).split("|");

const TABLE = {
  en: "Captions|Language of the captions|Read aloud|Type and colours|Size|Smaller|Larger|Colours|System|Light|Dark|What was said|Whole sentences only|View|Reader|Stage|Overlay|On top|The screen may turn off: the setting for that is in the device.|Connecting …|Getting ready …|Live|Paused|No sound|No connection. Trying again …|Connected again.|This is not the address of a run: scan its code again.|It has ended.|Captions appear here.|Newest|not read aloud|this browser cannot read aloud|tap the page to hear captions|voices for % here need the internet and are not used|no voice for % here",
  zh: "字幕|字幕语言|朗读|字体和颜色|大小|缩小|放大|颜色|系统|浅色|深色|原话|只显示完整句子|视图|阅读|舞台|视频|置顶|屏幕可能会熄灭：请在设备设置中更改。|正在连接…|正在准备…|直播|已暂停|没有声音|连接中断，正在重试…|已重新连接。|此地址已失效：请重新扫码。|已结束。|字幕将显示在这里。|最新|未朗读|此浏览器无法朗读|点按页面即可收听字幕|此设备上的%语音需要联网，因此不使用|此设备没有%语音",
  hi: "कैप्शन|कैप्शन की भाषा|बोलकर पढ़ें|अक्षर और रंग|आकार|छोटा|बड़ा|रंग|सिस्टम|हल्का|गहरा|जो कहा गया|केवल पूरे वाक्य|दृश्य|पठन|मंच|वीडियो|सबसे ऊपर|स्क्रीन बंद हो सकती है: इसकी सेटिंग डिवाइस में है।|कनेक्ट हो रहा है …|तैयारी हो रही है …|लाइव|रुका हुआ|कोई आवाज़ नहीं|कनेक्शन नहीं है। फिर कोशिश जारी है …|फिर से जुड़ गया।|यह पता अब मान्य नहीं है: कोड फिर से स्कैन करें।|समाप्त हो गया।|कैप्शन यहाँ दिखेंगे।|नवीनतम|पढ़ा नहीं गया|यह ब्राउज़र बोलकर नहीं पढ़ सकता|कैप्शन सुनने के लिए पेज पर टैप करें|यहाँ % की आवाज़ों को इंटरनेट चाहिए, इसलिए उनका उपयोग नहीं होता|यहाँ % के लिए कोई आवाज़ नहीं है",
  es: "Subtítulos|Idioma de los subtítulos|Leer en voz alta|Letra y colores|Tamaño|Más pequeño|Más grande|Colores|Sistema|Claro|Oscuro|Lo que se dijo|Solo frases completas|Vista|Lectura|Escenario|Vídeo|Encima|La pantalla puede apagarse: se ajusta en el dispositivo.|Conectando…|Preparando…|En directo|En pausa|Sin sonido|Sin conexión. Intentando de nuevo…|Conectado de nuevo.|Esta dirección ya no es válida: escanee de nuevo el código.|Ha terminado.|Los subtítulos aparecerán aquí.|Lo más reciente|no leído|este navegador no puede leer en voz alta|toque la página para oír los subtítulos|las voces de % de aquí necesitan internet y no se usan|aquí no hay voz para %",
  ar: "الترجمة|لغة الترجمة|قراءة بصوت عالٍ|الخط والألوان|الحجم|أصغر|أكبر|الألوان|النظام|فاتح|داكن|ما قيل|جمل كاملة فقط|العرض|قراءة|مسرح|فيديو|في الأعلى|قد تنطفئ الشاشة: يمكن تغيير ذلك في إعدادات الجهاز.|جارٍ الاتصال…|جارٍ التحضير…|مباشر|متوقف مؤقتًا|لا صوت|لا اتصال. نحاول من جديد…|عاد الاتصال.|هذا العنوان لم يعد صالحًا: امسح الرمز من جديد.|انتهى.|تظهر الترجمة هنا.|الأحدث|لم يُقرأ|هذا المتصفح لا يستطيع القراءة بصوت|المس الصفحة لسماع الترجمة|أصوات % هنا تحتاج إلى الإنترنت ولذلك لا تُستخدم|لا يوجد هنا صوت للغة %",
  fr: "Sous-titres|Langue des sous-titres|Lire à voix haute|Texte et couleurs|Taille|Plus petit|Plus grand|Couleurs|Système|Clair|Sombre|Ce qui a été dit|Phrases entières seulement|Affichage|Lecture|Scène|Vidéo|Au premier plan|L’écran peut s’éteindre : cela se règle dans l’appareil.|Connexion…|Préparation…|En direct|En pause|Pas de son|Connexion perdue. Nouvel essai…|Reconnecté.|Cette adresse n’est plus valable : scannez de nouveau le code.|C’est terminé.|Les sous-titres apparaîtront ici.|Le plus récent|non lu|ce navigateur ne peut pas lire à voix haute|touchez la page pour entendre les sous-titres|les voix pour la langue % ont ici besoin d’internet et ne sont pas utilisées|pas de voix ici pour la langue %",
  bn: "ক্যাপশন|ক্যাপশনের ভাষা|পড়ে শোনান|অক্ষর ও রং|আকার|ছোট|বড়|রং|সিস্টেম|হালকা|গাঢ়|যা বলা হয়েছে|শুধু পুরো বাক্য|দৃশ্য|পড়া|মঞ্চ|ভিডিও|সবার উপরে|স্ক্রিন বন্ধ হয়ে যেতে পারে: এর সেটিং ডিভাইসে আছে।|সংযোগ করা হচ্ছে …|প্রস্তুত হচ্ছে …|সরাসরি|বিরতি|শব্দ নেই|সংযোগ নেই। আবার চেষ্টা চলছে …|আবার সংযুক্ত।|এই ঠিকানা আর চলে না: কোডটি আবার স্ক্যান করুন।|শেষ হয়েছে।|ক্যাপশন এখানে দেখা যাবে।|সর্বশেষ|পড়া হয়নি|এই ব্রাউজার পড়ে শোনাতে পারে না|ক্যাপশন শুনতে পাতায় ট্যাপ করুন|এখানে % ভাষার কণ্ঠের জন্য ইন্টারনেট লাগে, তাই ব্যবহার করা হয় না|এখানে % ভাষার কোনো কণ্ঠ নেই",
  pt: "Legendas|Idioma das legendas|Ler em voz alta|Letra e cores|Tamanho|Menor|Maior|Cores|Sistema|Claro|Escuro|O que foi dito|Só frases completas|Modo|Leitura|Palco|Vídeo|Por cima|A tela pode apagar: isso se ajusta no aparelho.|Conectando…|Preparando…|Ao vivo|Em pausa|Sem som|Sem conexão. Tentando de novo…|Conectado de novo.|Este endereço não vale mais: leia o código de novo.|Terminou.|As legendas aparecem aqui.|O mais recente|não lido|este navegador não consegue ler em voz alta|toque na página para ouvir as legendas|as vozes para % aqui precisam da internet e não são usadas|não há aqui uma voz para %",
  ru: "Субтитры|Язык субтитров|Читать вслух|Шрифт и цвета|Размер|Меньше|Больше|Цвета|Система|Светлая|Тёмная|Что было сказано|Только целые предложения|Вид|Чтение|Сцена|Видео|Поверх окон|Экран может погаснуть: это настраивается в устройстве.|Соединение…|Подготовка…|Прямой эфир|Пауза|Нет звука|Нет связи. Пробуем снова…|Связь восстановлена.|Этот адрес больше не действует: отсканируйте код снова.|Трансляция окончена.|Здесь появятся субтитры.|Последнее|не прочитано|этот браузер не умеет читать вслух|коснитесь страницы, чтобы слушать субтитры|здешним голосам (%) нужен интернет, поэтому они не используются|здесь нет голоса: %",
  ur: "کیپشن|کیپشن کی زبان|بلند آواز میں پڑھیں|حروف اور رنگ|سائز|چھوٹا|بڑا|رنگ|سسٹم|ہلکا|گہرا|جو کہا گیا|صرف پورے جملے|منظر|مطالعہ|اسٹیج|ویڈیو|سب سے اوپر|اسکرین بند ہو سکتی ہے: اس کی ترتیب آلے میں ہے۔|رابطہ ہو رہا ہے…|تیاری ہو رہی ہے…|براہ راست|وقفہ|آواز نہیں|رابطہ نہیں۔ دوبارہ کوشش جاری ہے…|دوبارہ رابطہ ہو گیا۔|یہ پتا اب درست نہیں: کوڈ دوبارہ اسکین کریں۔|ختم ہو گیا۔|کیپشن یہاں نظر آئیں گے۔|تازہ ترین|نہیں پڑھا گیا|یہ براؤزر بلند آواز میں نہیں پڑھ سکتا|کیپشن سننے کے لیے صفحے کو چھوئیں|یہاں % کی آوازوں کو انٹرنیٹ چاہیے، اس لیے وہ استعمال نہیں ہوتیں|یہاں % کے لیے کوئی آواز نہیں",
  id: "Takarir|Bahasa takarir|Bacakan|Huruf dan warna|Ukuran|Lebih kecil|Lebih besar|Warna|Sistem|Terang|Gelap|Yang diucapkan|Hanya kalimat utuh|Tampilan|Baca|Panggung|Video|Paling atas|Layar mungkin mati: pengaturannya ada di perangkat.|Menghubungkan …|Menyiapkan …|Langsung|Dijeda|Tidak ada suara|Tidak ada koneksi. Mencoba lagi …|Terhubung kembali.|Alamat ini tidak berlaku lagi: pindai lagi kodenya.|Sudah selesai.|Takarir muncul di sini.|Terbaru|tidak dibacakan|peramban ini tidak dapat membacakan|ketuk halaman untuk mendengar takarir|suara % di sini memerlukan internet dan tidak dipakai|tidak ada suara % di sini",
  de: "Untertitel|Sprache der Untertitel|Vorlesen|Schrift und Farben|Größe|Kleiner|Größer|Farben|System|Hell|Dunkel|Was gesagt wurde|Nur ganze Sätze|Ansicht|Lesen|Bühne|Video|Im Vordergrund|Der Bildschirm kann sich ausschalten: Das lässt sich im Gerät einstellen.|Verbindung wird aufgebaut …|Wird vorbereitet …|Live|Pause|Kein Ton|Keine Verbindung. Neuer Versuch …|Wieder verbunden.|Diese Adresse gilt nicht mehr: den Code noch einmal scannen.|Es ist zu Ende.|Hier erscheinen die Untertitel.|Neueste|nicht vorgelesen|dieser Browser kann nicht vorlesen|auf die Seite tippen, um Untertitel zu hören|Stimmen für % brauchen hier das Internet und werden nicht benutzt|hier gibt es keine Stimme für %",
  ja: "字幕|字幕の言語|読み上げ|文字と色|大きさ|小さく|大きく|色|自動|明るい|暗い|話された言葉|完成した文だけ|表示|読む|舞台|動画|手前に表示|画面が消えることがあります。端末の設定で変えられます。|接続中…|準備中…|ライブ|一時停止|音声なし|接続が切れました。再試行中…|再び接続しました。|このアドレスは無効です。コードをもう一度読み取ってください。|終わりました。|ここに字幕が表示されます。|最新|読み上げなし|このブラウザーは読み上げに対応していません|字幕を聞くには画面をタップしてください|この端末の%の音声はインターネットが必要なため使いません|この端末に%の音声はありません",
  tr: "Altyazılar|Altyazı dili|Sesli oku|Yazı ve renkler|Boyut|Daha küçük|Daha büyük|Renkler|Sistem|Açık|Koyu|Ne söylendi|Yalnızca tam cümleler|Görünüm|Okuma|Sahne|Video|Üstte tut|Ekran kapanabilir: ayarı cihazdadır.|Bağlanıyor…|Hazırlanıyor…|Canlı|Duraklatıldı|Ses yok|Bağlantı yok. Yeniden deneniyor…|Yeniden bağlandı.|Bu adres artık geçerli değil: kodu yeniden okutun.|Sona erdi.|Altyazılar burada görünür.|En yeni|okunmadı|bu tarayıcı sesli okuyamıyor|altyazıları duymak için sayfaya dokunun|buradaki % sesleri internet gerektirdiği için kullanılmıyor|burada % için ses yok",
  ko: "자막|자막 언어|소리 내어 읽기|글자와 색|크기|작게|크게|색|시스템|밝게|어둡게|말한 그대로|완성된 문장만|보기|읽기|무대|영상|맨 위에|화면이 꺼질 수 있습니다. 기기 설정에서 바꿀 수 있습니다.|연결 중…|준비 중…|실시간|일시 중지|소리 없음|연결이 끊겼습니다. 다시 시도하는 중…|다시 연결되었습니다.|이 주소는 더 이상 유효하지 않습니다. 코드를 다시 스캔하세요.|끝났습니다.|여기에 자막이 표시됩니다.|최신|읽지 않음|이 브라우저는 소리 내어 읽을 수 없습니다|자막을 들으려면 화면을 누르세요|이 기기의 % 음성은 인터넷이 필요하여 사용하지 않습니다|이 기기에 % 음성이 없습니다",
  vi: "Phụ đề|Ngôn ngữ phụ đề|Đọc to|Chữ và màu|Cỡ chữ|Nhỏ hơn|Lớn hơn|Màu|Hệ thống|Sáng|Tối|Lời đã nói|Chỉ câu trọn vẹn|Chế độ xem|Đọc|Sân khấu|Video|Luôn ở trên|Màn hình có thể tắt: hãy chỉnh trong thiết bị.|Đang kết nối…|Đang chuẩn bị…|Trực tiếp|Tạm dừng|Không có âm thanh|Mất kết nối. Đang thử lại…|Đã kết nối lại.|Địa chỉ này không còn dùng được: hãy quét lại mã.|Đã kết thúc.|Phụ đề sẽ hiện ở đây.|Mới nhất|không đọc|trình duyệt này không đọc to được|chạm vào trang để nghe phụ đề|giọng % ở đây cần internet nên không được dùng|ở đây không có giọng %",
  fa: "زیرنویس|زبان زیرنویس|خواندن با صدا|قلم و رنگ‌ها|اندازه|کوچک‌تر|بزرگ‌تر|رنگ‌ها|سیستم|روشن|تیره|آنچه گفته شد|فقط جمله‌های کامل|نما|خواندن|صحنه|ویدئو|روی همه|ممکن است صفحه خاموش شود: تنظیم آن در دستگاه است.|در حال اتصال…|در حال آماده‌سازی…|زنده|مکث|بی‌صدا|اتصال قطع است. تلاش دوباره…|دوباره وصل شد.|این نشانی دیگر معتبر نیست: کد را دوباره اسکن کنید.|به پایان رسید.|زیرنویس اینجا نمایش داده می‌شود.|تازه‌ترین|خوانده نشد|این مرورگر نمی‌تواند با صدا بخواند|برای شنیدن زیرنویس صفحه را لمس کنید|صداهای % در اینجا به اینترنت نیاز دارند و به کار نمی‌روند|اینجا صدایی برای % نیست",
  it: "Sottotitoli|Lingua dei sottotitoli|Leggi ad alta voce|Carattere e colori|Dimensione|Più piccolo|Più grande|Colori|Sistema|Chiaro|Scuro|Ciò che è stato detto|Solo frasi intere|Vista|Lettura|Palco|Video|In primo piano|Lo schermo può spegnersi: si regola nel dispositivo.|Connessione…|Preparazione…|In diretta|In pausa|Nessun suono|Nessuna connessione. Nuovo tentativo…|Di nuovo connesso.|Questo indirizzo non è più valido: scansiona di nuovo il codice.|È finito.|I sottotitoli appaiono qui.|Più recente|non letto|questo browser non può leggere ad alta voce|tocca la pagina per ascoltare i sottotitoli|le voci per la lingua % qui richiedono internet e non sono usate|qui non c’è una voce per la lingua %",
  pl: "Napisy|Język napisów|Czytaj na głos|Pismo i kolory|Rozmiar|Mniejsze|Większe|Kolory|System|Jasne|Ciemne|Co powiedziano|Tylko całe zdania|Widok|Czytanie|Scena|Wideo|Na wierzchu|Ekran może się wyłączyć: ustawia się to w urządzeniu.|Łączenie…|Przygotowanie…|Na żywo|Pauza|Brak dźwięku|Brak połączenia. Ponawianie…|Połączono ponownie.|Ten adres już nie działa: zeskanuj kod ponownie.|To już koniec.|Tu pojawią się napisy.|Najnowsze|nieprzeczytane|ta przeglądarka nie umie czytać na głos|dotknij strony, aby słuchać napisów|głosy dla języka % wymagają tu internetu i nie są używane|nie ma tu głosu dla języka %",
  uk: "Субтитри|Мова субтитрів|Читати вголос|Шрифт і кольори|Розмір|Менше|Більше|Кольори|Система|Світла|Темна|Що було сказано|Лише цілі речення|Вигляд|Читання|Сцена|Відео|Поверх вікон|Екран може згаснути: це налаштовується в пристрої.|З’єднання…|Підготовка…|Наживо|Пауза|Немає звуку|Немає зв’язку. Пробуємо знову…|Зв’язок відновлено.|Ця адреса більше не діє: відскануйте код знову.|Трансляцію завершено.|Тут з’являться субтитри.|Найновіше|не прочитано|цей браузер не вміє читати вголос|торкніться сторінки, щоб слухати субтитри|тутешнім голосам (%) потрібен інтернет, тож вони не використовуються|тут немає голосу: %",
};

const RIGHT_TO_LEFT = ["ar", "fa", "he", "ur", "yi", "ps", "sd", "ug", "ckb"];
const TALL = /^(ar|fa|ur|ps|sd|ug|ckb|zh|yue|ja|ko|th|hi|mr|ne|bn|my|km|lo|ta|te|ml|kn|si)/;

/* The reader's language: the first of the browser's that is in the table. */
export const ui = navigator.languages.map((tag) => tag.split("-")[0].toLowerCase()).find((code) => TABLE[code]) || "en";
const entries = Object.fromEntries(TABLE[ui].split("|").map((word, at) => [NAMES[at], word]));

export function word(name, value = "") {
  return entries[name].replace("%", value);
}

export function isRightToLeft(code) {
  return RIGHT_TO_LEFT.includes(code.split("-")[0]);
}

/* Whether letters of this language need more room above and below. */
export function isTall(code) {
  return TALL.test(code);
}

/* The name of a language, in the reader's or another one. */
export function nameOf(code, language = ui) {
  return new Intl.DisplayNames(language, { type: "language" }).of(code);
}

/* Give the elements of the page their words. */
export function translatePage() {
  document.documentElement.lang = ui;
  document.documentElement.dir = isRightToLeft(ui) ? "rtl" : "ltr";
  document.title = word("captions");
  for (const one of document.querySelectorAll("[data-word]")) one.textContent = word(one.dataset.word);
  for (const one of document.querySelectorAll("[data-label]")) {
    const label = word(one.dataset.label);
    one.setAttribute("aria-label", label);
    if (one.matches("button")) one.title = label + (one.dataset.key ? ` (${one.dataset.key})` : "");
  }
}
